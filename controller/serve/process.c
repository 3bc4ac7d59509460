#include "controller/serve/process.h"

#include <fcntl.h>
#include <unistd.h>

static double seconds(clockid_t id)
{
    struct timespec time;

    return clock_gettime(id, &time) == 0 ? (double)time.tv_sec + (double)time.tv_nsec / 1e9 : 0;
}

/* The start of a small file; "" where it cannot be read. */
static void read_start(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
}

double process_resident_bytes(void)
{
    char text[256], *end;

    read_start("/proc/self/statm", text, sizeof(text));
    strtoull(text, &end, 10); /* the first is all of its address space */
    return (double)strtoull(end, NULL, 10) * (double)sysconf(_SC_PAGESIZE);
}

double process_cpu_seconds(void)
{
    return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

double process_start_seconds(void)
{
    char text[1024];
    const char *at;

    /* The name, in parentheses, may hold anything; the start is the 20th field after it, in
     * ticks since the machine's. */
    read_start("/proc/self/stat", text, sizeof(text));
    at = strrchr(text, ')');
    for (unsigned i = 0; at && i < 20; i++)
        at = strchr(at + 1, ' ');
    if (!at)
        return 0;
    return seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME) +
           (double)strtoull(at, NULL, 10) / (double)sysconf(_SC_CLK_TCK);
}
