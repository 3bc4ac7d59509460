/*
 * Archives of providers. What was unpacked has no more bytes than it may have, and a hash; what was
 * refused is refused for good.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "runtimes/terraform/package/unpack.h"
#include "test/fuzz/fuzz.h"

#define MOST (1u << 18)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    struct package_writer writer;
    struct error error = {0};
    char h1[PACKAGE_H1_SIZE];
    int r;

    must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    package_writer_init(&writer, -1, MOST);
    r = package_unpack(fd, &writer, &error);
    must_agree(r, &error);
    must(r == 0 || r == ERR_INVALID);
    must(writer.bytes <= MOST && writer.files <= PACKAGE_FILES + 1);
    if (r == 0) {
        package_writer_finish(&writer, h1);
        must(package_hash_is_valid(h1));
    }
    package_writer_done(&writer);
    close(fd);
    return 0;
}
