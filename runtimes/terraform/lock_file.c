#include "runtimes/terraform/lock_file.h"

#include <stdarg.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/terraform/package/hash.h"
#include "runtimes/terraform/source.h"
#include "runtimes/terraform/version.h"

#define WORD_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

/* One of them: a word, a string (its text), a sign, or the end. */
enum token_type { WORD, STRING, SIGN, END };

struct reader {
    const char *at;
    int line;
    enum token_type type; /* of the token that is next */
    const char *text;
    size_t length;
    struct error *error;
    int code; /* of the first error */
};

static int fail(struct reader *reader, const char *format, ...) PRINTF_LIKE(2, 3);

static int fail(struct reader *reader, const char *format, ...)
{
    va_list args;

    if (reader->code)
        return reader->code;
    va_start(args, format);
    reader->code = err_set_v(reader->error, ERR_INVALID, "InvalidLockFile", format, args);
    va_end(args);
    err_wrap(reader->error, "line %d", reader->line);
    return reader->code;
}

/* ---- Tokens ---- */

static void skip_line(struct reader *reader)
{
    reader->at += strcspn(reader->at, "\n");
}

static void skip_comment(struct reader *reader)
{
    const char *end = strstr(reader->at + 2, "*/");

    if (!end) {
        fail(reader, "a comment has no end");
        reader->at += strlen(reader->at);
        return;
    }
    for (; reader->at < end + 2; reader->at++)
        reader->line += *reader->at == '\n';
}

static void skip_blanks(struct reader *reader)
{
    for (;;) {
        if (*reader->at == '\n')
            reader->line++;
        if (*reader->at && strchr(" \t\r\n", *reader->at))
            reader->at++;
        else if (*reader->at == '#' || str_has_prefix(reader->at, "//"))
            skip_line(reader);
        else if (str_has_prefix(reader->at, "/*"))
            skip_comment(reader);
        else
            return;
    }
}

static void read_string(struct reader *reader)
{
    size_t length = strcspn(++reader->at, "\"\\\n$%");

    reader->type = STRING;
    reader->text = reader->at;
    reader->length = length;
    reader->at += length;
    if (*reader->at == '"')
        reader->at++;
    else
        fail(reader, "a string has no end, or more than plain text");
}

/* Reads what is next. */
static void step(struct reader *reader)
{
    skip_blanks(reader);
    reader->text = reader->at;
    reader->length = strspn(reader->at, WORD_LETTERS);
    if (!*reader->at) {
        reader->type = END;
    } else if (*reader->at == '"') {
        read_string(reader);
    } else if (reader->length) {
        reader->type = WORD;
        reader->at += reader->length;
    } else {
        reader->type = SIGN;
        reader->length = 1;
        reader->at++;
    }
}

static bool is_next(const struct reader *reader, enum token_type type, const char *text)
{
    return !reader->code && reader->type == type && strlen(text) == reader->length &&
           strncmp(text, reader->text, reader->length) == 0;
}

static bool accept(struct reader *reader, enum token_type type, const char *text)
{
    bool is = is_next(reader, type, text);

    if (is)
        step(reader);
    return is;
}

static int expect(struct reader *reader, enum token_type type, const char *text)
{
    return accept(reader, type, text) ? 0 : fail(reader, "\"%s\" is expected here", text);
}

/* *ret: free(). */
static int expect_string(struct reader *reader, char **ret)
{
    if (reader->code || reader->type != STRING)
        return fail(reader, "a string is expected here");
    *ret = str_new_n(reader->text, reader->length);
    step(reader);
    return 0;
}

/* ---- Blocks ---- */

static void done(struct locked *locked)
{
    free(locked->address);
    free(locked->version);
    free(locked->hashes);
    *locked = (struct locked){0};
}

static int read_hashes(struct reader *reader, struct locked *locked)
{
    _cleanup_buf_ struct buf hashes = BUF_INIT;
    int r = expect(reader, SIGN, "[");

    while (r >= 0 && !is_next(reader, SIGN, "]")) {
        _cleanup_free_ char *hash = NULL;

        r = expect_string(reader, &hash);
        if (r >= 0 && !package_hash_is_valid(hash))
            r = fail(reader, "\"%s\" is no hash, as \"h1:…\" and \"zh:…\" are", hash);
        if (r >= 0)
            buf_printf(&hashes, "%s%s", hashes.length ? " " : "", hash);
        if (r >= 0 && !accept(reader, SIGN, ","))
            break;
    }
    if (r >= 0)
        r = expect(reader, SIGN, "]");
    if (r >= 0)
        locked->hashes = buf_take(&hashes);
    return r;
}

static int read_version(struct reader *reader, struct locked *locked)
{
    struct version version;
    int r = expect_string(reader, &locked->version);

    if (r >= 0 && !version_read(locked->version, &version))
        r = fail(reader, "\"%s\" is no version", locked->version);
    return r;
}

static int read_setting(struct reader *reader, struct locked *locked)
{
    _cleanup_free_ char *constraints = NULL;

    if (!locked->version && accept(reader, WORD, "version"))
        return expect(reader, SIGN, "=") < 0 ? reader->code : read_version(reader, locked);
    if (accept(reader, WORD, "constraints")) /* what they were when it was locked */
        return expect(reader, SIGN, "=") < 0 ? reader->code : expect_string(reader, &constraints);
    if (!locked->hashes && accept(reader, WORD, "hashes"))
        return expect(reader, SIGN, "=") < 0 ? reader->code : read_hashes(reader, locked);
    return fail(reader, "version, constraints and hashes are expected here, each once");
}

static int read_block(struct reader *reader, struct locked *locked)
{
    _cleanup_(source_done) struct source source = {0};
    int r = expect(reader, WORD, "provider");

    if (r >= 0)
        r = expect_string(reader, &locked->address);
    if (r >= 0 && (source_read(locked->address, '@', &source, NULL) < 0 || source.version ||
                   !str_equal(source.address, locked->address)))
        r = fail(reader, "\"%s\" is no provider, as \"" SOURCE_HOST "/hashicorp/random\" is",
                 locked->address);
    if (r >= 0)
        r = expect(reader, SIGN, "{");
    while (r >= 0 && !is_next(reader, SIGN, "}"))
        r = read_setting(reader, locked);
    if (r >= 0 && (!locked->version || !locked->hashes || !*locked->hashes))
        r = fail(reader, "the provider %s has no version, or no hashes", locked->address);
    return r < 0 ? r : expect(reader, SIGN, "}");
}

int lock_file_read(const char *text, struct lock_file **ret, struct error *error)
{
    _cleanup_(lock_file_free_p) struct lock_file *file = NEW(struct lock_file);
    struct reader reader = {.at = text, .line = 1, .error = error};
    int r = 0;

    step(&reader);
    while (reader.type != END && r >= 0) {
        struct locked locked = {0};

        r = read_block(&reader, &locked);
        if (r >= 0 && lock_file_find(file, locked.address))
            r = fail(&reader, "the provider %s is there twice", locked.address);
        if (r >= 0 && file->count == LOCK_FILE_PROVIDERS)
            r = fail(&reader, "more than %d providers", LOCK_FILE_PROVIDERS);
        if (r < 0)
            done(&locked);
        else
            file->items[file->count++] = locked;
    }
    if (reader.code)
        return reader.code;
    *ret = TAKE(file);
    return 0;
}

void lock_file_free(struct lock_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->count; i++)
        done(&file->items[i]);
    free(file);
}

const struct locked *lock_file_find(const struct lock_file *file, const char *address)
{
    for (size_t i = 0; file && i < file->count; i++)
        if (str_equal(file->items[i].address, address))
            return &file->items[i];
    return NULL;
}
