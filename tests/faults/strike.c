/* Counts the system calls of all processes that change files below a folder, and strikes one of them.

   LD_PRELOAD loads it; STRIKE_CONTROL names a file that all processes map, see strikes.py. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { KILL = -1, SLOW = -2, TORN = -3 };

/* The fields are those of strikes.py, in its order. */
struct control {
    int is_armed;
    int point;   /* the call that is struck; 0: none */
    int action;  /* an errno, or one of the above */
    int lasts;   /* later calls that need room fail as well */
    int counted;
    int struck;
    char name[32];
    char folder[1024];
};

static struct control *control;

__attribute__((constructor)) static void load(void)
{
    const char *path = getenv("STRIKE_CONTROL");
    int file = path ? open(path, O_RDWR) : -1;
    if (file < 0)
        return;
    void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED)
        control = mapped;
}

static int is_below(const char *path)
{
    size_t size = strlen(control->folder);
    return !strncmp(path, control->folder, size) && (path[size] == '/' || !path[size]);
}

static int is_file_below(int file)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0)
        return 0;
    path[size] = 0;
    return is_below(path);
}

static int is_at_below(int folder, const char *path)
{
    return path[0] == '/' || folder == AT_FDCWD ? is_below(path) : is_file_below(folder);
}

/* Counts a call. Returns 0 if it may go on, TORN, or the errno with which it fails. */
static int strike(const char *name, int needs_room)
{
    int number = __sync_add_and_fetch(&control->counted, 1);
    int is_due = number == control->point;
    if (!is_due && !(control->lasts && control->struck && needs_room))
        return 0;
    if (is_due) {
        strncpy(control->name, name, sizeof control->name - 1);
        control->struck = 1;
    }
    if (control->action == KILL)
        kill(getpid(), SIGKILL);
    if (control->action == SLOW) {
        struct timespec pause = {0, 50000000};
        nanosleep(&pause, NULL);
        return 0;
    }
    return control->action;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define IS_ON(condition) (control && control->is_armed && (condition))

/* A call that fails, or goes on as it is. */
#define STRUCK(name, condition, needs_room, failed, call)      \
    if (IS_ON(condition)) {                                    \
        int reason = strike(#name, needs_room);                \
        if (reason == TORN)                                    \
            kill(getpid(), SIGKILL);                           \
        if (reason) {                                          \
            errno = reason;                                    \
            return failed;                                     \
        }                                                      \
    }                                                          \
    return call

/* A write that may also die when half of it is done. */
#define TORN_OR_STRUCK(name, file, half, call)                 \
    if (IS_ON(is_file_below(file))) {                          \
        int reason = strike(#name, 1);                         \
        if (reason == TORN) {                                  \
            (void)!(half);                                     \
            kill(getpid(), SIGKILL);                           \
        }                                                      \
        if (reason) {                                          \
            errno = reason;                                    \
            return -1;                                         \
        }                                                      \
    }                                                          \
    return call

#define CHANGES(flags) ((flags) & (O_CREAT | O_TRUNC | O_WRONLY | O_RDWR))

#define OPEN(name)                                                                          \
    int name(const char *path, int flags, ...)                                              \
    {                                                                                       \
        va_list rest;                                                                       \
        va_start(rest, flags);                                                              \
        mode_t mode = (flags) & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;           \
        va_end(rest);                                                                       \
        STRUCK(name, CHANGES(flags) && is_below(path), 1, -1, NEXT(name)(path, flags, mode)); \
    }

#define OPEN_AT(name)                                                                       \
    int name(int folder, const char *path, int flags, ...)                                  \
    {                                                                                       \
        va_list rest;                                                                       \
        va_start(rest, flags);                                                              \
        mode_t mode = (flags) & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;           \
        va_end(rest);                                                                       \
        STRUCK(name, CHANGES(flags) && is_at_below(folder, path), 1, -1,                    \
               NEXT(name)(folder, path, flags, mode));                                      \
    }

OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)

#define FOPEN(name)                                                                         \
    FILE *name(const char *path, const char *mode)                                          \
    {                                                                                       \
        STRUCK(name, mode[0] != 'r' && is_below(path), 1, NULL, NEXT(name)(path, mode));    \
    }

FOPEN(fopen)
FOPEN(fopen64)

ssize_t write(int file, const void *data, size_t size)
{
    TORN_OR_STRUCK(write, file, NEXT(write)(file, data, size / 2), NEXT(write)(file, data, size));
}

ssize_t writev(int file, const struct iovec *parts, int count)
{
    TORN_OR_STRUCK(writev, file, NEXT(writev)(file, parts, count / 2),
                   NEXT(writev)(file, parts, count));
}

#define PWRITE(name, offset_t)                                                              \
    ssize_t name(int file, const void *data, size_t size, offset_t start)                   \
    {                                                                                       \
        TORN_OR_STRUCK(name, file, NEXT(name)(file, data, size / 2, start),                 \
                       NEXT(name)(file, data, size, start));                                \
    }

PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define SENDFILE(name, offset_t)                                                            \
    ssize_t name(int target, int source, offset_t *start, size_t size)                      \
    {                                                                                       \
        TORN_OR_STRUCK(name, target, NEXT(name)(target, source, start, size / 2),           \
                       NEXT(name)(target, source, start, size));                            \
    }
ssize_t sendfile(int, int, off_t *, size_t);
ssize_t sendfile64(int, int, off64_t *, size_t);
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

ssize_t copy_file_range(int source, off64_t *from, int target, off64_t *to, size_t size,
                        unsigned flags)
{
    TORN_OR_STRUCK(copy_file_range, target,
                   NEXT(copy_file_range)(source, from, target, to, size / 2, flags),
                   NEXT(copy_file_range)(source, from, target, to, size, flags));
}

int fsync(int file)
{
    STRUCK(fsync, is_file_below(file), 0, -1, NEXT(fsync)(file));
}

int fdatasync(int file)
{
    STRUCK(fdatasync, is_file_below(file), 0, -1, NEXT(fdatasync)(file));
}

int ftruncate(int file, off_t size)
{
    STRUCK(ftruncate, is_file_below(file), 0, -1, NEXT(ftruncate)(file, size));
}

int ftruncate64(int file, off64_t size)
{
    STRUCK(ftruncate64, is_file_below(file), 0, -1, NEXT(ftruncate64)(file, size));
}

int rename(const char *from, const char *to)
{
    STRUCK(rename, is_below(to), 0, -1, NEXT(rename)(from, to));
}

int renameat(int a, const char *from, int b, const char *to)
{
    STRUCK(renameat, is_at_below(b, to), 0, -1, NEXT(renameat)(a, from, b, to));
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    STRUCK(renameat2, is_at_below(b, to), 0, -1, NEXT(renameat2)(a, from, b, to, flags));
}

int link(const char *from, const char *to)
{
    STRUCK(link, is_below(to), 1, -1, NEXT(link)(from, to));
}

int linkat(int a, const char *from, int b, const char *to, int flags)
{
    STRUCK(linkat, is_at_below(b, to), 1, -1, NEXT(linkat)(a, from, b, to, flags));
}

int unlink(const char *path)
{
    STRUCK(unlink, is_below(path), 0, -1, NEXT(unlink)(path));
}

int unlinkat(int folder, const char *path, int flags)
{
    STRUCK(unlinkat, is_at_below(folder, path), 0, -1, NEXT(unlinkat)(folder, path, flags));
}

int remove(const char *path)
{
    STRUCK(remove, is_below(path), 0, -1, NEXT(remove)(path));
}

int rmdir(const char *path)
{
    STRUCK(rmdir, is_below(path), 0, -1, NEXT(rmdir)(path));
}

int mkdir(const char *path, mode_t mode)
{
    STRUCK(mkdir, is_below(path), 1, -1, NEXT(mkdir)(path, mode));
}

int mkdirat(int folder, const char *path, mode_t mode)
{
    STRUCK(mkdirat, is_at_below(folder, path), 1, -1, NEXT(mkdirat)(folder, path, mode));
}
