/*
 * A path for people, a JSON pointer and a reference, over any document (the input's first three
 * lines, and the rest): what is found was well formed; every value is found by its own path and
 * its own pointer; what was replaced is what is found; references are found and resolved.
 */
#include "engine/value/path.h"
#include "engine/base/strmap.h"
#include "engine/spec/ref.h"
#include "engine/value/json.h"
#include "engine/value/value_mark.h"
#include "test/fuzz/fuzz.h"

#define MOST_VALUES 300 /* of a document whose values are all looked for: it takes the square */

/* ---- Each value by its own path ---- */

struct search {
    const struct value *root;
    struct path path;
    struct buf pointer;
    bool has_nul; /* in a key on the way: a path is a string, and cannot say it */
};

static void check_value(struct search *search, const struct value *value)
{
    const char *path = path_text(&search->path);
    size_t reached = 0;

    if (search->has_nul)
        return;
    must(pointer_find(search->root, search->pointer.data) == value);
    if (!*path)
        return;
    must(path_check(path, NULL));
    must(path_find(search->root, path, &reached) == value && reached == strlen(path));
}

static void check_all(struct search *search, const struct value *value)
{
    bool is_object = value_is(value, VALUE_OBJECT);

    check_value(search, value);
    for (size_t i = 0; i < value_count(value); i++) {
        size_t before = search->pointer.length, length = 0;
        bool had_nul = search->has_nul;
        char number[24];

        if (is_object) {
            const char *key = value_member_key(value, i, &length);

            search->has_nul = had_nul || strlen(key) != length;
            path_push_key(&search->path, key);
            pointer_add(&search->pointer, key, length);
        } else {
            snprintf(number, sizeof(number), "%zu", i);
            path_push_index(&search->path, i);
            pointer_add(&search->pointer, number, strlen(number));
        }
        check_all(search, is_object ? value_member(value, i) : value_at(value, i));
        path_pop(&search->path);
        search->pointer.length = before;
        search->pointer.data[before] = '\0';
        search->has_nul = had_nul;
    }
}

static void find_each(const struct value *root)
{
    struct search search = {.root = root, .pointer = BUF_INIT};

    if (value_size(root) > MOST_VALUES)
        return;
    path_init(&search.path);
    check_all(&search, root);
    path_done(&search.path);
    buf_done(&search.pointer);
}

/* ---- Any path, any pointer ---- */

static void find_path(const struct value *root, const char *path)
{
    struct error error = {0};
    bool well_formed = path_check(path, &error);
    size_t reached = 0;
    const struct value *found = path_find(root, path, &reached);

    must(well_formed == (error.code == 0));
    must(reached <= strlen(path) && (!found || (well_formed && reached == strlen(path))));
}

static void replace(const struct value *root, const char *pointer)
{
    _cleanup_value_ const struct value *with = value_pack("{s:i}", "put", 1);
    _cleanup_value_ const struct value *replaced = pointer_replace(root, pointer, with);
    _cleanup_value_ const struct value *removed = pointer_replace(root, pointer, NULL);
    const struct value *found = pointer_find(root, pointer);

    if (!found) {
        must(replaced == root && removed == root);
        return;
    }
    if (replaced)
        must(value_equal(pointer_find(replaced, pointer), with));
    must(*pointer ? removed && value_size(removed) + value_size(found) == value_size(root)
                  : !removed);
}

/* ---- References ---- */

/* What stands there, where the text leads into the document; else it is not known. */
struct known {
    const struct value *root;
    const struct strmap *ids;
    size_t n_lookups;
};

static int look_up(void *arg, const char *text, const struct value **ret, struct error *error)
{
    struct known *known = arg;
    const struct value *target, *found;
    struct ref ref = {0};
    int r = ref_parse(text, known->ids, &ref, error);

    must(strncmp(text, REF_PREFIX, strlen(REF_PREFIX)) == 0);
    known->n_lookups++;
    if (r < 0)
        return r;
    target = value_get(known->root, ref.id);
    must(target && ref.target == target);
    found = *ref.path ? path_find(target, ref.path, NULL) : target;
    *ret = *ref.path == 's' ? value_sensitive(found) : value_ref(found);
    return 0;
}

static void must_take_and_put(const struct value *value, size_t n_sensitive)
{
    _cleanup_value_ const struct value *taken = NULL, *put = NULL;
    _cleanup_value_ const struct value *left = value_take_sensitive(value, &taken);

    if (!value)
        return;
    must(left && value_count(taken) == n_sensitive);
    put = value_put_sensitive(left, taken);
    must(value_equal(put, value));
}

static void resolve(const struct value *root, const char *reference)
{
    struct strmap ids = STRMAP_INIT;
    struct known known = {.root = root, .ids = &ids};
    _cleanup_value_ const struct value *resolved = NULL, *sensitive = NULL, *marked = NULL;
    struct error error = {0}, parse = {0};
    struct ref ref = {0};
    int r;

    for (size_t i = 0; value_is(root, VALUE_OBJECT) && i < value_count(root); i++) {
        size_t length = 0;
        const char *key = value_member_key(root, i, &length);

        if (*key && strlen(key) == length)
            strmap_put(&ids, key, (void *)(uintptr_t)value_member(root, i));
    }
    must_agree(ref_parse(reference, &ids, &ref, &parse), &parse);
    r = ref_resolve(root, look_up, &known, &resolved, &error);
    must_agree(r, &error);
    must((r == 0) == (resolved != NULL));
    if (r == 0 && !known.n_lookups)
        must(resolved == root && !value_has_unknown(resolved) && !value_has_sensitive(resolved));
    sensitive = value_sensitive_paths(resolved);
    must((sensitive != NULL) == value_has_sensitive(resolved));
    marked = value_mark_paths(root, sensitive);
    must_take_and_put(resolved, value_count(sensitive));
    must(value_equal(marked, root));
    strmap_done(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *path = take_line(&data, &size);
    _cleanup_free_ char *pointer = take_line(&data, &size);
    _cleanup_free_ char *reference = take_line(&data, &size);
    _cleanup_value_ const struct value *root = NULL;

    json_read((const char *)data, size, &root, NULL);
    find_path(root, path);
    if (!root)
        return 0;
    find_each(root);
    replace(root, pointer);
    resolve(root, reference);
    return 0;
}
