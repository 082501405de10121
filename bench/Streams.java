/* bench/Streams.java: the job of bench/kafka in Kafka Streams: messages of a topic by key and minute, counted and summed, exactly once, into another topic.
 *
 * Streams FROM TO BROKERS N STATE_DIR: prints the seconds from RUNNING until all N messages were read and their offsets committed.
 * The key is the message's key already, so that nothing is shuffled through a topic; results come when a window closes.                       */
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.TimestampExtractor;

public class Streams {
    /* The number behind "name": of a flat object that this benchmark wrote. */
    static long number(String json, String name) {
        int at = json.indexOf(name) + name.length(), end = at;
        while (end < json.length() && json.charAt(end) != ',' && json.charAt(end) != '}') end++;
        return Long.parseLong(json, at, end, 10);
    }
    public static void main(String[] a) throws Exception {
        Properties p = new Properties();
        p.put(StreamsConfig.APPLICATION_ID_CONFIG, "bench-streams");
        p.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, a[2]);
        p.put(StreamsConfig.STATE_DIR_CONFIG, a[4]);
        p.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        p.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 1000);
        p.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        p.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1);
        p.put("auto.offset.reset", "earliest");
        TimestampExtractor time = (record, previous) -> number((String) record.value(), "\"t\":");
        StreamsBuilder b = new StreamsBuilder();
        b.stream(a[0], Consumed.with(Serdes.String(), Serdes.String()).withTimestampExtractor(time))
            .groupByKey()
            .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofMinutes(1)))
            .emitStrategy(EmitStrategy.onWindowClose())
            .aggregate(() -> "0 0", (key, value, sums) -> {
                int space = sums.indexOf(' ');
                return (Long.parseLong(sums, 0, space, 10) + 1) + " " + (Long.parseLong(sums, space + 1, sums.length(), 10) + number(value, "\"v\":"));
            }, Materialized.with(Serdes.String(), Serdes.String()))
            .toStream()
            .map((w, sums) -> KeyValue.pair(w.key(), "{\"k\":" + w.key() + ",\"w\":" + w.window().start() + ",\"n\":" + sums.replace(" ", ",\"s\":") + "}"))
            .to(a[1], Produced.with(Serdes.String(), Serdes.String()));
        KafkaStreams streams = new KafkaStreams(b.build(), p);
        streams.start();
        while (streams.state() != KafkaStreams.State.RUNNING) Thread.sleep(5);
        long began = System.nanoTime(), n = Long.parseLong(a[3]), read = 0;
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", (Object) a[2]))) {
            while (read < n) {
                Thread.sleep(50);
                read = 0;
                for (var e : admin.listConsumerGroupOffsets("bench-streams").partitionsToOffsetAndMetadata().get().entrySet())
                    if (e.getKey().topic().equals(a[0]) && e.getValue() != null) read += e.getValue().offset();
            }
        }
        System.out.printf(Locale.ROOT, "seconds %.2f%n", (System.nanoTime() - began) / 1e9);
        streams.close(Duration.ofSeconds(20));
    }
}
