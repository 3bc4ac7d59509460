/*
 * Which loader a program names. Only what the kernel itself would run is read: ELF of 64 bits.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/io/sandbox_private.h"

#define MOST_HEADERS 128

static bool read_at(int fd, void *ret, size_t size, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, ret, size, (off_t)offset) == (ssize_t)size;
}

/* The kernel refuses what is no text with an end. */
static char *read_name(int fd, const Elf64_Phdr *header)
{
    char name[PATH_MAX];

    if (header->p_filesz < 2 || header->p_filesz > sizeof(name) ||
        !read_at(fd, name, header->p_filesz, header->p_offset))
        return NULL;
    return name[header->p_filesz - 1] == '\0' ? str_new(name) : NULL;
}

static char *find(int fd)
{
    Elf64_Ehdr elf;
    Elf64_Phdr header;

    if (!read_at(fd, &elf, sizeof(elf), 0) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 ||
        elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_phentsize != sizeof(header))
        return NULL;
    for (unsigned i = 0; i < elf.e_phnum && i < MOST_HEADERS; i++) {
        if (!read_at(fd, &header, sizeof(header), elf.e_phoff + i * sizeof(header)))
            return NULL;
        if (header.p_type == PT_INTERP)
            return read_name(fd, &header);
    }
    return NULL;
}

int program_loader(const char *program, char **ret, struct error *error)
{
    int fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return err_set(error, ERR_INVALID, NULL, "%s: %s", program, strerrordesc_np(errno));
    *ret = find(fd);
    close(fd);
    return 0;
}
