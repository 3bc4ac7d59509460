/*
 * The files of a package: from an archive (zip), or from a folder. Both are of others, and may
 * change or be made to harm: what is hashed is what was read, once.
 */
#pragma once

#include "runtimes/terraform/package/writer.h"

/* Gives all files of an archive to a writer. fd: at any position, moved. Refused are links,
 * devices, encryption, and methods of compression other than deflate. The errors are those of the
 * writer, and say nothing of which archive it is. */
int package_unpack(int fd, struct package_writer *writer, struct error *error);

/* Where the links of a folder may lead. */
enum package_links {
    LINKS_ANYWHERE, /* whoever fills the folder may read all that the operator can */
    LINKS_INSIDE,
};

/* The same of a folder. Links are followed to files, not to folders. A file that changes while it
 * is read is an error. */
int package_copy(const char *folder, enum package_links links, struct package_writer *writer,
                 struct error *error);

/* The program of the provider `name` in a package's folder: an executable file with the name
 * terraform-provider-NAME, perhaps with "_…" or "." after it. ERR_INVALID ProviderPackageInvalid:
 * there is none, or more than one. *ret: its path, free(). */
int package_program(const char *folder, const char *name, char **ret, struct error *error);
