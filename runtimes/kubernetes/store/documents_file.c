/* An open document, and what earlier calls learnt about it: documents_private.h. */
#include <stdio.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/threads/locked.h"
#include "runtimes/io/clock.h"
#include "runtimes/kubernetes/store/documents_private.h"

#define NAME_DIGITS 40

/* ---- Names ---- */

/* Slashes are escaped, so that different parts never give the same name. */
static bool is_plain(char c)
{
    return c != '/' && c != '%';
}

static void add_part(struct buf *to, const char *text)
{
    escape_add(to, text, strlen(text), '%', is_plain);
}

void kube_document_name(const struct document_name *name, char ret[KUBE_DOCUMENT_NAME_SIZE])
{
    bool is_state = name->kind == DOCUMENT_STATE && !name->item;
    _cleanup_buf_ struct buf text = BUF_INIT;
    char hex[HASH_HEX_SIZE];

    add_part(&text, name->spec.namespace_name);
    buf_add_char(&text, '/');
    add_part(&text, name->spec.name);
    if (name->item) {
        buf_add_char(&text, '/');
        add_part(&text, name->item);
    }
    hash_hex(text.data, text.length, hex);
    snprintf(ret, KUBE_DOCUMENT_NAME_SIZE, "kusion-%s%s%.*s",
             is_state ? "" : document_kind_name(name->kind), is_state ? "" : "-", NAME_DIGITS, hex);
}

/* ---- Opened and closed ---- */

void kube_segments_done(struct segments *segments)
{
    for (size_t i = 0; i < segments->count; i++)
        free(segments->names[i]);
    free(segments->names);
    free(segments->version);
    buf_done(&segments->entries);
    *segments = (struct segments){.entries = BUF_INIT};
}

void kube_document_forget(struct document_file *file)
{
    kube_head_done(&file->seen);
    kube_segments_done(&file->segments);
    file->is_damaged = false;
}

void kube_document_free(struct document_file *file)
{
    if (!file)
        return;
    kube_document_forget(file);
    free(file->namespace_name);
    free(file->spec_name);
    free(file->item);
    free(file);
}

struct document_file *kube_document_new(struct documents *store, const struct document_name *name)
{
    struct document_file *file = NEW(struct document_file);

    file->base.store = &store->base;
    file->namespace_name = str_new(name->spec.namespace_name);
    file->spec_name = str_new(name->spec.name);
    file->item = str_new(name->item);
    file->name =
        (struct document_name){name->kind, {file->namespace_name, file->spec_name}, file->item};
    file->segments = (struct segments){.entries = BUF_INIT};
    kube_document_name(&file->name, file->head_name);
    return file;
}

/* ---- Heads without garbage ---- */

struct clean_head {
    char *name, *version; /* of the head: valid while the head has this version */
};

void kube_clean_head_free(struct clean_head *head)
{
    if (!head)
        return;
    free(head->name);
    free(head->version);
    free(head);
}

bool kube_document_is_clean(const struct document_file *file)
{
    struct documents *store = (struct documents *)file->base.store;
    LOCKED(&store->lock);
    const struct clean_head *head = strmap_get(&store->clean_heads, file->head_name);

    return head && str_equal(head->version, file->seen.version);
}

void kube_document_set_clean(const struct document_file *file, bool is_clean)
{
    struct documents *store = (struct documents *)file->base.store;
    LOCKED(&store->lock);

    kube_clean_head_free(strmap_remove(&store->clean_heads, file->head_name));
    if (is_clean) {
        struct clean_head *head = NEW(struct clean_head);

        head->name = str_new(file->head_name);
        head->version = str_new(file->seen.version);
        strmap_put(&store->clean_heads, head->name, head);
    }
}

void kube_document_moved(struct document_file *file, char *version)
{
    bool was_clean = kube_document_is_clean(file);

    free(file->seen.version);
    file->seen.version = version;
    if (was_clean)
        kube_document_set_clean(file, true);
}

/* ---- Creates that were not answered ---- */

struct late_create {
    char *name;    /* of the head */
    int64_t until; /* ms, monotonic: it has no effect after that */
};

void kube_late_create_free(struct late_create *late)
{
    if (!late)
        return;
    free(late->name);
    free(late);
}

void kube_document_expect_create(struct documents *store, const char *head_name)
{
    LOCKED(&store->lock);
    struct late_create *late = strmap_get(&store->late, head_name);

    if (!late) {
        late = NEW(struct late_create);
        late->name = str_new(head_name);
        strmap_put(&store->late, late->name, late);
    }
    late->until = system_clock.monotonic(&system_clock) + store->effect_time;
}

bool kube_document_has_late_create(const struct document_file *file)
{
    struct documents *store = (struct documents *)file->base.store;
    LOCKED(&store->lock);
    const struct late_create *late = strmap_get(&store->late, file->head_name);

    return late && late->until > system_clock.monotonic(&system_clock);
}

void kube_document_expect_nothing(const struct document_file *file)
{
    struct documents *store = (struct documents *)file->base.store;
    LOCKED(&store->lock);

    kube_late_create_free(strmap_remove(&store->late, file->head_name));
}
