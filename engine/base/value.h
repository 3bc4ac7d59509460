/*
 * JSON values: immutable, shared, and exactly as they were written.
 *
 * A value lives in a document (an arena with an atomic reference count).
 * value_ref() and value_unref() count on the document that the value lives
 * in, so any value keeps its whole document alive, and a document goes when
 * the last reference to any of its values goes. Values are made by a builder
 * and frozen when it finishes; from then on threads read them without locks.
 * A new document may share parts of others: the builder retains the documents
 * that they come from.
 *
 * Numbers keep the text that they were written with (12345678901234567890123,
 * 1.10) and are compared by it after normalising -0, trailing zeros and the
 * exponent (value_equal). Strings are UTF-8, may hold NUL, and are also
 * terminated. Objects keep the order in which their keys were written and
 * have no key twice; a lookup in a large one is logarithmic.
 *
 * An unknown value (VALUE_UNKNOWN) stands for one that is not known before
 * apply. No text of a document reads as one: only a builder makes it.
 *
 * What is sensitive carries a bit, and so does all below it: what a getter
 * finds inside a sensitive object or array is sensitive itself, and no lookup
 * has to take care of it. The bit goes along wherever a value is shared,
 * copied, or changed (a member that is put into a sensitive object becomes
 * sensitive). It is no part of the value: value_equal() and text know nothing
 * of it. value_mark.h makes lists of pointers of it and back.
 *
 * Getters accept NULL and values of another type, and answer NULL, 0 or the
 * fallback then: value_get(value_get(v, "metadata"), "name") is safe whatever
 * v is. What they return is borrowed from the value asked.
 */
#ifndef ENGINE_BASE_VALUE_H
#define ENGINE_BASE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/cleanup.h"
#include "engine/base/error.h"

enum value_type {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_NUMBER,
    VALUE_STRING,
    VALUE_ARRAY,
    VALUE_OBJECT,
    VALUE_UNKNOWN,
};

/* An unknown value in text for people. */
#define VALUE_UNKNOWN_TEXT "(known after apply)"

struct value;

/* ---- Lifetime ---- */

const struct value *value_ref(const struct value *value);
void value_unref(const struct value *value);
DEFINE_CLEANUP(const struct value *, value_unref)
#define _cleanup_value_ _cleanup_(value_unref_p)
/* References value (or NULL) in place of what *field held. */
void value_assign(const struct value **field, const struct value *value);

/* ---- Reading ---- */

enum value_type value_type(const struct value *value); /* NULL: VALUE_NULL */
const char *value_type_name(const struct value *value); /* "object", for messages */

static inline bool value_is(const struct value *value, enum value_type type)
{
    return value && value_type(value) == type;
}

bool value_bool(const struct value *value, bool fallback);
/* A whole number that fits; anything else (1.5, 1e3 is whole, "3") is the fallback. */
int64_t value_int(const struct value *value, int64_t fallback);
const char *value_number(const struct value *value);               /* its text, or NULL */
const char *value_string(const struct value *value);               /* or NULL */
const char *value_string_n(const struct value *value, size_t *ret_length);

size_t value_count(const struct value *value); /* items or members; 0 for scalars */
const struct value *value_at(const struct value *array, size_t index);

const struct value *value_get(const struct value *object, const char *key);
const struct value *value_get_n(const struct value *object, const char *key, size_t length);
/* value_string(value_get(object, key)) */
const char *value_get_string(const struct value *object, const char *key);

/* Members in the order they were written. */
const char *value_member_key(const struct value *object, size_t index, size_t *ret_length);
const struct value *value_member(const struct value *object, size_t index);

/* Walks down objects: value_path(v, "metadata", "labels", NULL). */
const struct value *value_path(const struct value *value, ...) __attribute__((sentinel));

/* Same type and content; objects whatever the order of their keys, arrays in
 * order, numbers by what they mean. An unknown value equals an unknown one alone:
 * a plan that is made again is the same. */
bool value_equal(const struct value *a, const struct value *b);

/* Values in the whole tree, this one included. */
size_t value_size(const struct value *value);

/* Bytes of the document that the value is the root of, without what that shares with others; 0: the
 * value is part of another's. In constant time. */
size_t value_memory(const struct value *value);

/* Whether the value, or any below it, is unknown; is sensitive. In constant time. */
bool value_has_unknown(const struct value *value);
bool value_has_sensitive(const struct value *value);
/* Whether all of the value is sensitive. */
bool value_is_sensitive(const struct value *value);

/* ---- Making ---- */

/*
 * A builder makes one document from a stream of calls: begin and end, key
 * before each member, and the scalars. Misuse (a member without a key) is a
 * bug and aborts. What data can cause (a key twice, too deep, too many
 * values) is remembered as the first error and given by finish.
 */
struct value_builder;

struct value_builder *value_builder_new(void);
void value_builder_free(struct value_builder *builder);
DEFINE_CLEANUP(struct value_builder *, value_builder_free)

void value_begin_object(struct value_builder *b);
void value_end_object(struct value_builder *b);
void value_begin_array(struct value_builder *b);
void value_end_array(struct value_builder *b);
void value_key(struct value_builder *b, const char *key);
void value_key_n(struct value_builder *b, const char *key, size_t length);

void value_add_null(struct value_builder *b);
void value_add_bool(struct value_builder *b, bool v);
void value_add_int(struct value_builder *b, int64_t v);
void value_add_number(struct value_builder *b, const char *text, size_t length); /* JSON's syntax */
void value_add_string(struct value_builder *b, const char *s); /* NULL adds null */
void value_add_string_n(struct value_builder *b, const char *s, size_t length);
void value_add_printf(struct value_builder *b, const char *format, ...) PRINTF_LIKE(2, 3);
void value_add_unknown(struct value_builder *b);
void value_add(struct value_builder *b, const struct value *v); /* shares; NULL adds null */
void value_add_sensitive(struct value_builder *b, const struct value *v); /* the same, sensitive */

/* Begins an array or object as `like` is one, sensitive if it is; ends the innermost that is
 * open. For copies that differ below. */
void value_begin_like(struct value_builder *b, const struct value *like);
void value_end(struct value_builder *b);

/* The first error so far, or 0: lets a reader stop early. */
int value_builder_error(const struct value_builder *b);
size_t value_builder_depth(const struct value_builder *b); /* containers that are open */

/* Ends the document; the builder is empty after, and may be used again.
 * ERR_INVALID DuplicateKey, ERR_TOO_LARGE. */
int value_builder_finish(struct value_builder *b, const struct value **ret, struct error *error);

/*
 * Makes a value from a format, as jansson's json_pack() does:
 *   n null   u unknown   b int as boolean   i int   I int64_t   s string (NULL: null)
 *   v value, shared (NULL: null)   V value, its reference taken over
 *   {s:…} object   [...] array
 *   ? after s, v, V: leave the member or item out where the argument is NULL
 * Blanks, ':' and ',' are for the reader's eye. A wrong format is a bug and
 * aborts; a key twice aborts too. Here and below, a result past a bound of
 * limits.h is NULL.
 *   value_pack("{s:s, s:{s:i}}", "kind", kind, "spec", "replicas", 3)
 */
const struct value *value_pack(const char *format, ...);

/* The same value, sensitive. A reference; NULL stays NULL. */
const struct value *value_sensitive(const struct value *value);

/* A new object like this one, with one member set (in place, or last) or left
 * out. All else is shared. object: NULL or not an object counts as {}. */
const struct value *value_with(const struct value *object, const char *key,
                               const struct value *member);
const struct value *value_without(const struct value *object, const char *key);

/* The same along a path of keys; objects that are missing are made. */
const struct value *value_with_path(const struct value *object, const char *const *keys,
                                    size_t n_keys, const struct value *member);
const struct value *value_without_path(const struct value *object, const char *const *keys,
                                       size_t n_keys);

/* The same without the member at the path, as a copy: nothing is shared but what is sensitive or
 * unknown, so that the whole is not kept in memory by what is left of it. */
const struct value *value_copy_without(const struct value *object, const char *const *keys,
                                       size_t n_keys);

#endif
