/*
 * Feeds a fuzzer with files, and with beginnings of each: of a text that is cut off anywhere, most
 * of what is wrong is found. Arguments: files, with all of their beginnings, and folders of them,
 * with a sample: every third one, and all with KUSION_TEST_LONG (hack/soak unit).
 */
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include "engine/base/buf.h"
#include "test/fuzz/fuzz.h"

#define LARGEST  65536
#define MOST_CUT 2048 /* bytes of a file of which beginnings are tried */
#define STEP     3    /* of a sample */

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

static const char *running;
static size_t running_length;
static unsigned passed;

/* So that what a sanitizer finds comes to say_which(), too. */
const char *__asan_default_options(void)
{
    return "abort_on_error=1";
}

const char *__ubsan_default_options(void)
{
    return "abort_on_error=1";
}

static void say_which(int signal_number)
{
    (void)signal_number;
    dprintf(STDERR_FILENO, "it was the first %zu bytes of %s\n", running_length, running);
    dprintf(STDOUT_FILENO, "tests: %u passed, 1 failed\n", passed);
    _exit(1);
}

/* In memory of just its size, so that AddressSanitizer sees a step past it. */
static void feed(const char *bytes, size_t length)
{
    uint8_t *copy = malloc(length);

    if (!copy && length)
        abort();
    if (length)
        memcpy(copy, bytes, length);
    running_length = length;
    LLVMFuzzerTestOneInput(copy, length);
    free(copy);
}

static void feed_file(const char *path, size_t first, size_t step)
{
    FILE *file = fopen(path, "re");
    char *bytes = malloc(LARGEST);
    size_t length;

    running = path;
    if (!file || !bytes)
        abort();
    length = fread(bytes, 1, LARGEST, file);
    fclose(file);
    feed(bytes, length);
    for (size_t cut = first; cut < length && length <= MOST_CUT; cut += step)
        feed(bytes, cut);
    free(bytes);
    passed++;
}

static bool feed_folder(const char *path)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    size_t step = getenv("KUSION_TEST_LONG") ? 1 : STEP;

    for (int i = 0; i < count; i++) {
        _cleanup_buf_ struct buf file = BUF_INIT;

        buf_printf(&file, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            feed_file(file.data, (size_t)i % step, step);
        free(entries[i]);
    }
    free(entries);
    return count >= 0;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = say_which};

    sigaction(SIGABRT, &action, NULL);
    for (int i = 1; i < argc; i++)
        if (!feed_folder(argv[i]))
            feed_file(argv[i], 0, 1);
    printf("tests: %u passed, 0 failed\n", passed);
    return passed ? 0 : 1;
}
