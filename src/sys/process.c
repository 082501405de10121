/* sys/process.c: see process.h. fork and exec: between them only what POSIX allows there.                                        */
#include "sys/process.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct wr_process {
    pid_t pid;
    int   pipe, code;
    bool  ended;
};

static int open_out(const char *path) { return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644); }

/* In the child: never comes back. What goes wrong is written to `report` as an errno. */
static void child(const wr_process_opts *o, pid_t parent, const int fds[3], int report) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], i) < 0) goto failed;
    if (o->dir && chdir(o->dir)) goto failed;
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    execv(o->argv[0], (char *const *)(uintptr_t)o->argv);
failed:;
    int     why = errno;
    ssize_t n = write(report, &why, sizeof why);
    (void)n;
    _exit(127);
}

wr_status wr_process_start(const wr_process_opts *o, wr_process **out, wr_err *err) {
    int     tube[2] = {-1, -1}, report[2] = {-1, -1}, fds[3] = {-1, -1, -1}, why = 0;
    pid_t   pid = -1, self = getpid();
    ssize_t got = 0;
    fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool ok = fds[0] >= 0 && !pipe2(report, O_CLOEXEC) && (!o->piped || !pipe2(tube, O_CLOEXEC));
    if (ok) fds[1] = o->piped ? tube[1] : open_out(o->out), ok = fds[1] >= 0;
    if (ok) fds[2] = open_out(o->err), ok = fds[2] >= 0;
    if (ok) pid = fork(), ok = pid >= 0;
    if (ok && pid == 0) child(o, self, fds, report[1]);
    why = errno;
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0) close(fds[i]);
    if (report[1] >= 0) close(report[1]);
    if (ok) got = read(report[0], &why, sizeof why), ok = got <= 0; /* its end: exec closed it */
    if (report[0] >= 0) close(report[0]);
    if (!ok) {
        if (pid > 0) waitpid(pid, NULL, 0);
        if (tube[0] >= 0) close(tube[0]);
        return wr_fail(err, WR_IO, "58030", "cannot start '%s': %s", o->argv[0], strerror(why));
    }
    if (tube[0] >= 0) fcntl(tube[0], F_SETFL, O_NONBLOCK);
    wr_process *p = wr_calloc(1, sizeof *p);
    *p = (wr_process){.pid = pid, .pipe = tube[0]};
    *out = p;
    return WR_OK;
}

bool wr_process_ended(wr_process *p, int64_t wait_us, int *code) {
    for (int64_t until = wr_mono_us(wr_world_posix()) + wait_us; !p->ended;) {
        int   status;
        pid_t got = waitpid(p->pid, &status, WNOHANG);
        if (got == p->pid) p->ended = true, p->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        else if (got < 0 && errno != EINTR) p->ended = true, p->code = 127;
        else if (wr_mono_us(wr_world_posix()) >= until) return false;
        else wr_world_posix()->vt->sleep_us(wr_world_posix(), 5000);
    }
    *code = p->code;
    return true;
}

void wr_process_signal(wr_process *p, int sig) {
    if (!p->ended) kill(p->pid, sig);
}

size_t wr_process_read(wr_process *p, void *buf, size_t len) {
    ssize_t n = p->pipe < 0 ? 0 : read(p->pipe, buf, len);
    return n > 0 ? (size_t)n : 0;
}

void wr_process_free(wr_process *p) {
    if (!p) return;
    int code;
    wr_process_signal(p, SIGKILL);
    wr_process_ended(p, INT64_MAX / 4, &code);
    if (p->pipe >= 0) close(p->pipe);
    wr_free(p);
}

const char *wr_process_self(char path[4096]) {
    ssize_t n = readlink("/proc/self/exe", path, 4095);
    if (n <= 0) return NULL;
    path[n] = '\0';
    return path;
}
