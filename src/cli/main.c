/* cli/main.c: `weir COMMAND ...`: finds the command and hands over. */
#include "cli.h"
#include "weir.h"

static int cmd_version(void) {
#if defined(__clang__)
    const char *compiler = "clang " __clang_version__;
#else
    const char *compiler = "gcc " __VERSION__;
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const char *kind = ", sanitizers";
#elif defined(WR_DEBUG)
    const char *kind = ", debug";
#else
    const char *kind = "";
#endif
    printf("weir %s (%s%s)\n", weir_version(), compiler, kind);
    return finish_stdout(CLI_OK);
}

int main(int argc, char **argv) {
    static const struct { const char *name; int (*run)(int, char **); } commands[] = {
        {"run", cmd_run}, {"sql", cmd_sql}, {"explain", cmd_explain}, {"check", cmd_check}, {"doctor", cmd_doctor}, {"contract", cmd_contract}, {"gen", cmd_gen}, {"fmt", cmd_fmt}, {"export", cmd_export}, {"upgrade", cmd_upgrade}, {"replay", cmd_replay}, {"backfill", cmd_backfill}, {"savepoint", cmd_savepoint}, {"size", cmd_size}, {"slo", cmd_slo}, {"lab", cmd_lab}, {"story", cmd_story}, {"state", cmd_state}, {"ledger", cmd_ledger}, {"log", cmd_log}, {"users", cmd_users}, {"why", cmd_why}, {"top", cmd_top}, {"help", cmd_help},
        {"audit", cmd_audit},
    };
    if (argc < 2) {
        help_command("", stderr);
        return CLI_REFUSED;
    }
    const char *name = argv[1];
    if (!strcmp(name, "--help") || !strcmp(name, "-h")) name = "help";
    if (!strcmp(name, "--version") || !strcmp(name, "-V") || !strcmp(name, "version")) return cmd_version();
    for (size_t i = 0; i < WR_COUNT_OF(commands); i++)
        if (!strcmp(commands[i].name, name)) return commands[i].run(argc - 1, argv + 1);
    int code = not_yet(name);
    if (code >= 0) return code;
    wr_str known[WR_COUNT_OF(commands) + 1];
    for (size_t i = 0; i < WR_COUNT_OF(commands); i++) known[i] = wr_str_of(commands[i].name);
    known[WR_COUNT_OF(commands)] = WR_STR("version");
    int near = wr_nearest(wr_str_of(name), known, WR_COUNT_OF(known));
    if (near >= 0) fprintf(stderr, "weir: there is no command '%s'; did you mean '%.*s'?\n", name, WR_FMT(known[near]));
    else fprintf(stderr, "weir: there is no command '%s'; 'weir help' lists them\n", name);
    return CLI_REFUSED;
}
