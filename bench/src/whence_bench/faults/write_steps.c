/* Counts the calls that change a disk below watched folders, in one sequence over all processes that share a map, and
 * kills, or fails, at a chosen one. Loaded before libc (LD_PRELOAD); whence/bench/faults/write_steps.py is the other end.
 *
 * Every call goes to the kernel by its own number, so that nothing has to be looked up and nothing here calls itself.
 * Writes through a memory map are not seen: of what whence writes, only SQLite's index over its log is one, and that
 * is made again after a kill. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WATCHED = 8, LONGEST = 512, LOGGED = 32768, NAME = 232 };
enum mode { OFF, COUNT, KILL_BEFORE, KILL_AFTER, TEAR, KILL_ONE, FULL, NO_FLUSH };
enum kind { MAKES, WRITES, FLUSHES, CHANGES }; /* the first two need room */
enum todo { GO, THEN_DIE, HALF_THEN_DIE, HALF, REFUSE };

struct step {
    char call[16];
    int32_t pid;
    uint32_t bytes;
    char path[NAME];
};

struct control {
    _Atomic uint64_t steps;
    _Atomic int32_t mode;
    int32_t group;
    uint64_t at;
    _Atomic uint64_t acted;
    char reserved[32];
    char watched[WATCHED][LONGEST];
    struct step log[LOGGED];
};

static struct control *shared;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("BENCH_WRITE_STEPS");
    if (!name) return;
    int fd = syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *map = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) shared = map;
    syscall(SYS_close, fd);
}

static int on(void) { return shared && atomic_load(&shared->mode) != OFF; }

/* The watched part of a path, or NULL. */
static const char *below(const char *path) {
    for (int i = 0; i < WATCHED && shared->watched[i][0]; i++) {
        size_t length = strlen(shared->watched[i]);
        if (!strncmp(path, shared->watched[i], length) && (path[length] == '/' || !path[length])) return path + length;
    }
    return NULL;
}

static const char *path_of_handle(int fd, char *room) {
    char link[40];
    snprintf(link, sizeof link, fd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, room, 2 * LONGEST - 1);
    room[length > 0 ? length : 0] = 0;
    return room;
}

static const char *path_at(int place, const char *path, char *room) {
    if (path[0] == '/') return path;
    path_of_handle(place, room);
    size_t used = strlen(room);
    snprintf(room + used, 2 * LONGEST - used, "/%s", path);
    return room;
}

static void die(int32_t group) {
    if (group > 0) kill(-group, SIGKILL);
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static enum todo step(enum kind kind, const char *call, const char *path, size_t bytes) {
    int saved = errno;
    const char *name = below(path);
    if (!name) return errno = saved, GO;
    uint64_t number = atomic_fetch_add(&shared->steps, 1) + 1;
    if (number <= LOGGED) {
        struct step *one = &shared->log[number - 1];
        one->pid = getpid();
        one->bytes = (uint32_t)bytes;
        memset(one->call, 0, sizeof one->call), strncpy(one->call, call, sizeof one->call - 1);
        memset(one->path, 0, NAME), strncpy(one->path, *name ? name : "/", NAME - 1);
    }
    errno = saved;
    int mode = atomic_load(&shared->mode);
    if (mode == FULL || mode == NO_FLUSH) {
        if (number < shared->at || !(mode == FULL ? kind <= WRITES : kind == FLUSHES)) return GO;
        uint64_t before = atomic_fetch_add(&shared->acted, 1);
        return mode == FULL && kind == WRITES && !before && bytes > 1 ? HALF : REFUSE; /* a disk fills up in a write */
    }
    if (mode == COUNT || number != shared->at) return GO;
    atomic_fetch_add(&shared->acted, 1);
    if (mode == KILL_BEFORE) die(shared->group);
    if (mode == KILL_ONE) die(0);
    return mode == TEAR && kind == WRITES ? HALF_THEN_DIE : THEN_DIE;
}

static long refused(void) {
    errno = atomic_load(&shared->mode) == FULL ? ENOSPC : EIO;
    return -1;
}

/* A call that is done or not: its step, then itself. */
#define WHOLE(kind, call, path, invocation)                              \
    do {                                                                 \
        if (!on()) return (int)(invocation);                             \
        char room[2 * LONGEST];                                          \
        enum todo todo = step(kind, call, path, 0);                      \
        if (todo == REFUSE) return (int)refused();                       \
        int done = (int)(invocation), saved = errno;                     \
        if (todo == THEN_DIE) die(shared->group);                        \
        errno = saved;                                                   \
        return done;                                                     \
    } while (0)

/* A call that writes so many bytes, and may write half of them. */
#define SOME(call, fd, wanted, whole, half)                              \
    do {                                                                 \
        if (!on() || !(wanted)) return (ssize_t)(whole);                 \
        char room[2 * LONGEST];                                          \
        enum todo todo = step(WRITES, call, path_of_handle(fd, room), wanted); \
        if (todo == REFUSE) return (ssize_t)refused();                   \
        ssize_t done = (ssize_t)(todo == HALF || todo == HALF_THEN_DIE ? (half) : (whole)); \
        if (todo == THEN_DIE || todo == HALF_THEN_DIE) die(shared->group); \
        return done;                                                     \
    } while (0)

static int opened(int place, const char *path, int flags, mode_t mode) {
    if (on() && flags & (O_CREAT | O_TRUNC)) {
        int saved = errno;
        int new = flags & O_CREAT && syscall(SYS_faccessat, place, path, F_OK) < 0;
        errno = saved;
        if (new) WHOLE(MAKES, "open", path_at(place, path, room), syscall(SYS_openat, place, path, flags, mode));
        if (flags & O_TRUNC && !(flags & O_EXCL && flags & O_CREAT))
            WHOLE(CHANGES, "open to empty", path_at(place, path, room), syscall(SYS_openat, place, path, flags, mode));
    }
    return (int)syscall(SYS_openat, place, path, flags, mode);
}

#define MODE_OF(flags)                                                   \
    mode_t mode = 0;                                                     \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {                             \
        va_list more;                                                    \
        va_start(more, flags);                                           \
        mode = va_arg(more, mode_t);                                     \
        va_end(more);                                                    \
    }

int open(const char *path, int flags, ...) { MODE_OF(flags) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE_OF(flags) return opened(AT_FDCWD, path, flags, mode); }
int openat(int place, const char *path, int flags, ...) { MODE_OF(flags) return opened(place, path, flags, mode); }
int openat64(int place, const char *path, int flags, ...) { MODE_OF(flags) return opened(place, path, flags, mode); }
int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

ssize_t write(int fd, const void *data, size_t bytes) {
    SOME("write", fd, bytes, syscall(SYS_write, fd, data, bytes), syscall(SYS_write, fd, data, bytes / 2));
}
ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at) {
    SOME("pwrite", fd, bytes, syscall(SYS_pwrite64, fd, data, bytes, at), syscall(SYS_pwrite64, fd, data, bytes / 2, at));
}
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) { return pwrite64(fd, data, bytes, at); }
ssize_t writev(int fd, const struct iovec *pieces, int count) {
    size_t first = count > 0 ? pieces[0].iov_len : 0;
    SOME("writev", fd, (size_t)(count > 0), syscall(SYS_writev, fd, pieces, count), syscall(SYS_write, fd, pieces[0].iov_base, first / 2));
}
ssize_t sendfile64(int to, int from, off64_t *at, size_t bytes) {
    SOME("sendfile", to, bytes, syscall(SYS_sendfile, to, from, at, bytes), syscall(SYS_sendfile, to, from, at, bytes / 2));
}
ssize_t sendfile(int to, int from, off_t *at, size_t bytes) { return sendfile64(to, from, at, bytes); }
ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *put, size_t bytes, unsigned flags) {
    SOME("copy", to, bytes, syscall(SYS_copy_file_range, from, at, to, put, bytes, flags),
         syscall(SYS_copy_file_range, from, at, to, put, bytes / 2, flags));
}

int fsync(int fd) { WHOLE(FLUSHES, "fsync", path_of_handle(fd, room), syscall(SYS_fsync, fd)); }
int fdatasync(int fd) { WHOLE(FLUSHES, "fdatasync", path_of_handle(fd, room), syscall(SYS_fdatasync, fd)); }

int ftruncate64(int fd, off64_t size) { WHOLE(CHANGES, "ftruncate", path_of_handle(fd, room), syscall(SYS_ftruncate, fd, size)); }
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }
int truncate64(const char *path, off64_t size) { WHOLE(CHANGES, "truncate", path_at(AT_FDCWD, path, room), syscall(SYS_truncate, path, size)); }
int truncate(const char *path, off_t size) { return truncate64(path, size); }
int fallocate64(int fd, int how, off64_t at, off64_t size) {
    WHOLE(MAKES, "fallocate", path_of_handle(fd, room), syscall(SYS_fallocate, fd, how, at, size));
}
int fallocate(int fd, int how, off_t at, off_t size) { return fallocate64(fd, how, at, size); }
int posix_fallocate64(int fd, off64_t at, off64_t size) { return fallocate64(fd, 0, at, size) < 0 ? errno : 0; }
int posix_fallocate(int fd, off_t at, off_t size) { return posix_fallocate64(fd, at, size); }

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    WHOLE(CHANGES, "rename", path_at(to, new, room), syscall(SYS_renameat2, from, old, to, new, flags));
}
int renameat(int from, const char *old, int to, const char *new) { return renameat2(from, old, to, new, 0); }
int rename(const char *old, const char *new) { return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0); }
int linkat(int from, const char *old, int to, const char *new, int flags) {
    WHOLE(MAKES, "link", path_at(to, new, room), syscall(SYS_linkat, from, old, to, new, flags));
}
int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }
int symlinkat(const char *old, int to, const char *new) {
    WHOLE(MAKES, "symlink", path_at(to, new, room), syscall(SYS_symlinkat, old, to, new));
}
int symlink(const char *old, const char *new) { return symlinkat(old, AT_FDCWD, new); }
int unlinkat(int place, const char *path, int flags) {
    WHOLE(CHANGES, flags & AT_REMOVEDIR ? "rmdir" : "unlink", path_at(place, path, room), syscall(SYS_unlinkat, place, path, flags));
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int mkdirat(int place, const char *path, mode_t mode) {
    if (!syscall(SYS_faccessat, place, path, F_OK)) return errno = EEXIST, -1;
    WHOLE(MAKES, "mkdir", path_at(place, path, room), syscall(SYS_mkdirat, place, path, mode));
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
int fchmodat(int place, const char *path, mode_t mode, int flags) {
    (void)flags; /* nobody here asks for a link's own mode */
    WHOLE(CHANGES, "chmod", path_at(place, path, room), syscall(SYS_fchmodat, place, path, mode));
}
int chmod(const char *path, mode_t mode) { return fchmodat(AT_FDCWD, path, mode, 0); }
int fchmod(int fd, mode_t mode) { WHOLE(CHANGES, "fchmod", path_of_handle(fd, room), syscall(SYS_fchmod, fd, mode)); }
