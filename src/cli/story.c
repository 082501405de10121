/* cli/story.c: `weir story`: what goes wrong in a streaming job, told with real runs. story.h says how. */
#include "story.h"
#include <getopt.h>
#include <signal.h>
#include "story_teller.h"

static void on_signal(int sig) { (void)sig, story_stopped = 1; }

static void list(const story_list *all, bool json) {
    if (!json) puts("What goes wrong in a streaming job, and what weir does about it. Each takes less than a minute and begins with a question.\n");
    for (uint32_t i = 0; i < all->n; i++) {
        wr_sbuf title = {0};
        wr_sbuf_add_json(&title, all->at[i].title);
        if (json) printf("%s{\"story\":%u,\"title\":%.*s}", i ? "," : "{\"stories\":[", all->at[i].number, WR_FMT(wr_sbuf_str(&title)));
        else printf("  weir story %u   %.*s\n", all->at[i].number, WR_FMT(all->at[i].title));
        wr_sbuf_free(&title);
    }
    puts(json ? "]}" : "\nWith --keep DIR scripts, data and state stay there to play with.");
}

static int tell(wr_arena *arena, const char *which, const story_opts *opts) {
    story_list all = {0};
    story      own = {0}, *found = NULL;
    wr_err     err = {0};
    uint64_t   number = 0;
    bool       is_path = which && !parse_count(which, &number);
    wr_status  status = is_path ? story_of_dir(arena, which, &own, &err) : story_all(arena, &all, &err);
    if (status != WR_OK) {
        print_err(&err, opts->json);
        return exit_code_of(status);
    }
    if (!which) return list(&all, opts->json), CLI_OK;
    for (uint32_t i = 0; i < all.n; i++)
        if (all.at[i].number == number) found = &all.at[i];
    if (!is_path && !found) return usage_error("story", "there is no story %s; 'weir story' lists them", which);
    struct sigaction act = {.sa_handler = on_signal};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    return story_tell(is_path ? &own : found, opts);
}

int cmd_story(int argc, char **argv) {
    enum { KEEP = 1000, QUICK };
    static const struct option options[] = {{"json", no_argument, NULL, OPT_JSON}, {"yes", no_argument, NULL, 'y'}, {"seed", required_argument, NULL, OPT_SEED}, {"keep", required_argument, NULL, KEEP},
                                            {"quick", no_argument, NULL, QUICK}, {"help", no_argument, NULL, 'h'}, {0}};
    story_opts opts = {.seed = 1};
    opterr = 0;
    optind = 1;
    for (int opt; (opt = getopt_long(argc, argv, ":yh", options, NULL)) != -1;) {
        if (opt == 'h') return help_command("story", stdout), finish_stdout(CLI_OK);
        if (opt == ':' || opt == '?') return wrong_option("story", argv, opt);
        if (opt == OPT_JSON) opts.json = true;
        if (opt == 'y') opts.yes = true;
        if (opt == QUICK) opts.quick = true;
        if (opt == KEEP) opts.keep = optarg;
        if (opt == OPT_SEED && !parse_count(optarg, &opts.seed)) return usage_error("story", "--seed: expected a number, got '%s'", optarg);
    }
    if (optind + 1 < argc) return usage_error("story", "one story at a time");
    wr_arena *arena = wr_arena_new(NULL);
    int       code = tell(arena, argv[optind], &opts);
    wr_arena_free(arena);
    return finish_stdout(code);
}
