/*
 * JSON as text (RFC 8259). The reader is the project's only user of yajl.
 *
 * The reader refuses what yajl accepts: a duplicate key in an object, a lone surrogate (\ud800),
 * nesting past LIMIT_DEPTH, documents and strings past their bounds, and text after the document.
 * It also refuses exponents of more than 9 digits. Errors are ERR_INVALID or ERR_TOO_LARGE with
 * "line L, column C: …" (from 1; columns in bytes). A duplicate key is reported at its own
 * position, or, in an object of more than 16 members, at the object's end.
 */
#pragma once

#include <stddef.h>

#include "engine/base/buf.h"
#include "engine/base/error.h"
#include "engine/value/value.h"

int json_read(const char *text, size_t length, const struct value **ret, struct error *error);
int json_read_str(const char *text, const struct value **ret, struct error *error);

/*
 * The same for text that arrives in pieces: a stream of documents, such as a watch. on_value is
 * called for each document. It borrows the value, and returns 0 or an error code, which ends the
 * reading.
 */
typedef int json_on_value(void *arg, const struct value *value, struct error *error);

struct json_stream;

struct json_stream *json_stream_new(json_on_value *on_value, void *arg);
/* Bytes of one document or item, as text: less than LIMIT_DOCUMENT_BYTES. 0: that. */
void json_stream_limit(struct json_stream *stream, size_t bytes);
int json_stream_add(struct json_stream *stream, const char *text, size_t length,
                    struct error *error);
/* The end of the text: ERR_INVALID if it falls inside a document. */
int json_stream_end(struct json_stream *stream, struct error *error);
void json_stream_free(struct json_stream *stream);
DEFINE_CLEANUP(struct json_stream *, json_stream_free)

/*
 * A stream for one large object of the shape {"…": …, "<items>": [ … ]}, such as a List. on_item is
 * called for each complete item, whose memory is freed afterwards. The other members (kind,
 * metadata) are given as one object at the end. So memory is bounded by the largest item.
 */
struct json_stream *json_item_stream_new(const char *items, json_on_value *on_item,
                                         json_on_value *on_rest, void *arg);

enum json_style {
    JSON_COMPACT,   /* keys as they were written */
    JSON_CANONICAL, /* compact, keys sorted by bytes, numbers normalised: for digests */
    JSON_PRETTY,    /* two blanks of indent */
    JSON_FOR_YAML,  /* compact, and the same to a reader of YAML */
    JSON_VISIBLE,   /* compact, and hidden characters (utf8.h) escaped: for logs */
};

/*
 * JSON is not quite YAML: libyaml, and Go's reader after it, take U+0085, U+2028 and U+2029 for
 * ends of a line and fold them, and refuse U+007F to U+009F, U+FFFE and U+FFFF. JSON_FOR_YAML
 * writes these, and U+FEFF, as \uXXXX. It writes all others as they are: code points past U+FFFF
 * must not be escaped, since such a reader refuses surrogates, and text of other alphabets would
 * be up to three times as long. A key of more than 1022 characters has no form that both read.
 */

/* An unknown value is the string "(known after apply)", for people. Canonical, it is a bare ?,
 * which is no JSON: the digest of no other value is the same. */
void json_write(struct buf *to, const struct value *value, enum json_style style);
char *json_to_str(const struct value *value); /* compact; free() it */
void json_write_string(struct buf *to, const char *s, size_t length); /* quoted; JSON_VISIBLE */
