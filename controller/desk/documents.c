/* Which documents are known to be in the store. */
#include "controller/desk/desk_private.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

/* ---- Plans of Releases ---- */

static bool is_of(const struct kept *kept, const struct document_name *name)
{
    return kept->kind == name->kind && str_equal(kept->spec->object.name, name->spec.name);
}

void desk_note_document(struct desk *desk, const struct document_name *name)
{
    LOCKED(&desk->lock);
    const struct spec_key of = {name->spec.namespace_name, name->item};
    struct desk_entry *release, *spec;
    struct kept *kept;

    release = desk_get(desk, DESK_RELEASE, &of);
    for (kept = release->documents; kept && !is_of(kept, name);)
        kept = kept->next;
    if (!kept) {
        spec = desk_get(desk, DESK_SPEC, &name->spec);
        kept = NEW(struct kept);
        *kept = (struct kept){.kind = name->kind,
                              .release = release,
                              .spec = spec,
                              .next = release->documents,
                              .next_of_spec = spec->documents_of_spec};
        release->documents = spec->documents_of_spec = kept;
    }
}

static void remove_kept(struct kept **at)
{
    struct kept *kept = *at, **of_spec = &kept->spec->documents_of_spec;

    while (*of_spec != kept)
        of_spec = &(*of_spec)->next_of_spec;
    *of_spec = kept->next_of_spec;
    *at = kept->next;
    desk_tidy(kept->spec);
    free(kept);
}

void desk_forget_document(struct desk *desk, const struct document_name *name)
{
    LOCKED(&desk->lock);
    const struct spec_key of = {name->spec.namespace_name, name->item};
    struct kept **at;
    struct desk_entry *release = desk_find(desk, DESK_RELEASE, &of);

    if (release) {
        for (at = &release->documents; *at && !is_of(*at, name);)
            at = &(*at)->next;
        if (*at)
            remove_kept(at);
    }
    desk_tidy(release);
}

void desk_note_listed(struct desk *desk)
{
    LOCKED(&desk->lock);

    desk->knows_documents = true;
}

void desk_documents_done(struct desk_documents *documents)
{
    for (size_t i = 0; i < documents->count; i++) {
        free(documents->items[i].spec);
        free(documents->items[i].release);
    }
    free(documents->items);
    *documents = (struct desk_documents){0};
}

static void add(struct desk_documents *to, const struct kept *kept)
{
    to->items = mem_grow(to->items, to->count, &to->capacity, sizeof(*to->items));
    to->items[to->count++] = (struct desk_document){kept->kind, str_new(kept->spec->object.name),
                                                    str_new(kept->release->object.name)};
}

bool desk_documents_of(struct desk *desk, const struct spec_key *release,
                       struct desk_documents *ret)
{
    LOCKED(&desk->lock);
    const struct desk_entry *entry = desk_find(desk, DESK_RELEASE, release);

    for (const struct kept *kept = entry ? entry->documents : NULL; kept; kept = kept->next)
        add(ret, kept);
    return desk->knows_documents;
}

struct desk_documents desk_approvals_of(struct desk *desk, const struct spec_key *spec)
{
    LOCKED(&desk->lock);
    struct desk_documents documents = {0};
    const struct kept *kept;
    const struct desk_entry *entry = desk_find(desk, DESK_SPEC, spec);

    for (kept = entry ? entry->documents_of_spec : NULL; kept; kept = kept->next_of_spec)
        if (kept->kind == DOCUMENT_APPROVAL)
            add(&documents, kept);
    return documents;
}

/* ---- Recorded Specs ---- */

bool desk_recorded_was_kept(struct desk *desk, const struct spec_key *spec, const char *digest)
{
    LOCKED(&desk->lock);
    const struct desk_entry *entry = desk_find(desk, DESK_SPEC, spec);

    return entry && entry->knows_recorded && str_equal(entry->recorded, digest);
}

void desk_note_recorded(struct desk *desk, const struct spec_key *spec, const char *digest)
{
    LOCKED(&desk->lock);
    struct desk_entry *entry = desk_get(desk, DESK_SPEC, spec);

    entry->knows_recorded = digest;
    str_copy(entry->recorded, sizeof(entry->recorded), digest ? digest : "");
    if (digest)
        entry->n_recorded = *digest ? entry->n_recorded + 1 : 0;
    desk_tidy(entry);
}

bool desk_sweep_is_due(struct desk *desk, const struct spec_key *spec, size_t limit)
{
    LOCKED(&desk->lock);
    bool is_due;
    struct desk_entry *entry = desk_find(desk, DESK_SPEC, spec);

    is_due = entry && (entry->n_recorded > limit || (entry->n_recorded && !entry->was_swept));
    if (is_due) {
        entry->n_recorded = 0;
        entry->was_swept = true;
    }
    return is_due;
}

/* ---- The history ---- */

bool desk_is_collected(struct desk *desk, const struct spec_key *spec)
{
    LOCKED(&desk->lock);
    const struct desk_entry *entry = desk_find(desk, DESK_SPEC, spec);

    return entry && entry->is_collected;
}

void desk_set_collected(struct desk *desk, const struct spec_key *spec, bool is_collected)
{
    LOCKED(&desk->lock);
    struct desk_entry *entry = desk_get(desk, DESK_SPEC, spec);

    entry->is_collected = is_collected;
    desk_tidy(entry);
}

/* ---- The state file of Terraform ---- */

void desk_note_exported(struct desk *desk, const struct spec_key *spec, const char *note)
{
    LOCKED(&desk->lock);
    struct desk_entry *entry = desk_find(desk, DESK_SPEC, spec);

    if (entry) {
        free(entry->exported);
        entry->exported = str_new(note);
    }
}

char *desk_exported(struct desk *desk, const struct spec_key *spec)
{
    LOCKED(&desk->lock);
    const struct desk_entry *entry = desk_find(desk, DESK_SPEC, spec);

    return entry ? str_new(entry->exported) : NULL;
}
