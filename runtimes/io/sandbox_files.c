/*
 * Landlock. What the system's headers have of it may be older than what the kernel can do, so its
 * numbers are here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtimes/io/sandbox_private.h"

#define NEWEST_VERSION 7 /* that is known here */

#define ASK_VERSION  1 /* a flag of landlock_create_ruleset() */
#define RULE_OF_PATH 1
#define RULE_OF_PORT 2

/* Rights to files. */
#define EXECUTE     (UINT64_C(1) << 0)
#define WRITE_FILE  (UINT64_C(1) << 1)
#define READ_FILE   (UINT64_C(1) << 2)
#define READ_FOLDER (UINT64_C(1) << 3)
#define REMOVE      (UINT64_C(3) << 4) /* folders, files */
#define MAKE_FOLDER (UINT64_C(1) << 7)
#define MAKE_FILE   (UINT64_C(1) << 8)
#define MAKE_SOCKET (UINT64_C(1) << 9)
#define MAKE_FIFO   (UINT64_C(1) << 10)
#define MOVE        (UINT64_C(1) << 13) /* from folder to folder; version 2 */
#define TRUNCATE    (UINT64_C(1) << 14) /* 3 */
#define USE_DEVICE  (UINT64_C(1) << 15) /* ioctl(); 5 */

#define READ (READ_FILE | READ_FOLDER)
/* No devices, and no symbolic links: what is in the folder may be opened by us. */
#define OWN                                                                                  \
    (READ | WRITE_FILE | REMOVE | MAKE_FOLDER | MAKE_FILE | MAKE_SOCKET | MAKE_FIFO | MOVE | \
     TRUNCATE)
/* Those that a rule of a file, not of a folder, may give. */
#define OF_FILE (EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | USE_DEVICE)

#define BIND_TCP   (UINT64_C(1) << 0) /* 4 */
#define ALL_SCOPES (UINT64_C(3))      /* abstract Unix sockets, signals; 6 */

/* A later version's attributes follow those of an earlier one; zeros are taken by any. */
struct rules_attributes {
    uint64_t files, ports, scopes;
};

struct rule_of_path {
    uint64_t rights;
    int32_t fd;
} __attribute__((packed));

struct rule_of_port {
    uint64_t rights, port;
};

/* What every program may use. What is not there is left out. */
static const struct given {
    const char *path;
    uint64_t rights;
} common[] = {
    /* Certificates of public authorities; not all of /etc/ssl, which may have keys. */
    {"/etc/ssl/certs", READ},
    {"/etc/ssl/cert.pem", READ},
    {"/etc/ssl/ca-bundle.pem", READ},
    {"/etc/pki/tls/certs", READ},
    {"/etc/pki/tls/cert.pem", READ},
    {"/etc/pki/tls/cacert.pem", READ},
    {"/etc/pki/ca-trust/extracted", READ},
    {"/usr/share/ca-certificates", READ},
    {"/usr/local/share/ca-certificates", READ},
    /* The resolver. */
    {"/etc/resolv.conf", READ},
    {"/etc/hosts", READ},
    {"/etc/host.conf", READ},
    {"/etc/gai.conf", READ},
    {"/etc/nsswitch.conf", READ},
    {"/etc/services", READ},
    {"/etc/protocols", READ},
    /* Time zones. */
    {"/etc/localtime", READ},
    {"/usr/share/zoneinfo", READ},
    {"/dev/null", READ | WRITE_FILE},
    {"/dev/zero", READ},
    {"/dev/urandom", READ},
    {"/dev/random", READ},
    /* Go asks for these. */
    {"/proc/sys/net/core/somaxconn", READ},
    {"/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", READ},
};

/* What a program needs that is linked to shared libraries, beside its loader. */
static const struct given libraries[] = {
    {"/etc/ld.so.cache", READ}, {"/lib", READ},       {"/lib64", READ},
    {"/usr/lib", READ},         {"/usr/lib64", READ}, {"/usr/local/lib", READ},
};

static uint64_t all_rights(int version)
{
    uint64_t rights = (UINT64_C(1) << 13) - 1;

    if (version >= 2)
        rights |= MOVE;
    if (version >= 3)
        rights |= TRUNCATE;
    if (version >= 5)
        rights |= USE_DEVICE;
    return rights;
}

int landlock_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);

    if (version < 1)
        return 0;
    return version < NEWEST_VERSION ? (int)version : NEWEST_VERSION;
}

static int failed(struct error *error, const char *what, int code)
{
    return err_set(error, ERR_UNAVAILABLE, NULL, "Landlock: %s: %s", what, strerrordesc_np(code));
}

static int add_open(int rules, const char *path, int fd, uint64_t rights, struct error *error)
{
    struct rule_of_path rule = {.rights = rights, .fd = fd};
    struct stat status;

    if (fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode))
        rule.rights &= OF_FILE;
    if (syscall(SYS_landlock_add_rule, rules, RULE_OF_PATH, &rule, 0) < 0)
        return failed(error, path, errno);
    return 0;
}

/* is_needed: it is an error if it is not there. */
static int add(int rules, const char *path, uint64_t rights, bool is_needed, struct error *error)
{
    int fd = open(path, O_PATH | O_CLOEXEC), r;

    if (fd < 0 && is_needed)
        return err_set(error, ERR_INVALID, NULL, "%s: %s", path, strerrordesc_np(errno));
    if (fd < 0)
        return 0;
    r = add_open(rules, path, fd, rights, error);
    close(fd);
    return r;
}

static int add_all(int rules, const struct given *all, size_t count, uint64_t known,
                   struct error *error)
{
    int r = 0;

    for (size_t i = 0; i < count && r >= 0; i++)
        r = add(rules, all[i].path, all[i].rights & known, false, error);
    return r;
}

static int add_loader(int rules, const char *program, uint64_t known, struct error *error)
{
    _cleanup_free_ char *loader = NULL;
    int r = program_loader(program, &loader, error);

    if (r < 0 || !loader)
        return r;
    r = add(rules, loader, EXECUTE | READ_FILE, true, error);
    return r < 0 ? r : add_all(rules, libraries, ARRAY_SIZE(libraries), known, error);
}

/* 0: that the kernel chooses. Go's resolver asks with it whether there is IPv6. */
static int add_port(int rules, struct error *error)
{
    struct rule_of_port rule = {.rights = BIND_TCP, .port = 0};

    if (syscall(SYS_landlock_add_rule, rules, RULE_OF_PORT, &rule, 0) < 0)
        return failed(error, "ports", errno);
    return 0;
}

int landlock_rules(const struct sandbox_config *config, int version, int *ret, struct error *error)
{
    uint64_t known = all_rights(version);
    struct rules_attributes attributes = {.files = known,
                                          .ports = version >= 4 ? BIND_TCP : 0,
                                          .scopes = version >= 6 ? ALL_SCOPES : 0};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
    int r;

    if (rules < 0)
        return failed(error, "no rules can be made", errno);
    r = add(rules, config->program, EXECUTE | READ_FILE, true, error);
    if (r >= 0)
        r = add_loader(rules, config->program, known, error);
    if (r >= 0 && config->files)
        r = add(rules, config->files, READ, true, error);
    if (r >= 0)
        r = add(rules, config->folder, OWN & known, true, error);
    if (r >= 0)
        r = add_all(rules, common, ARRAY_SIZE(common), known, error);
    if (r >= 0 && attributes.ports)
        r = add_port(rules, error);
    if (r < 0) {
        close(rules);
        return r;
    }
    *ret = rules;
    return 0;
}

int landlock_enter(int rules)
{
    return (int)syscall(SYS_landlock_restrict_self, rules, 0);
}
