#include "runtimes/kubernetes/client/list_page.h"

#include "engine/base/str.h"

static int pass_item(void *arg, const struct value *item, struct error *error)
{
    struct list_page *page = arg;
    int r = page->on_item(page->arg, item, error);

    page->is_refused = r < 0;
    return r;
}

static int take_metadata(void *arg, const struct value *rest, struct error *error)
{
    struct list_page *page = arg;
    const struct value *metadata = value_get(rest, "metadata");
    const char *kind = value_get_string(rest, "kind"),
               *next = value_get_string(metadata, "continue");
    const char *version = value_get_string(metadata, "resourceVersion");

    if (!kind || !str_has_suffix(kind, "List") || !version)
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer",
                       "the API server's answer is not a list");
    page->resource_version = str_new(version);
    page->next = next && *next ? str_new(next) : NULL;
    return 0;
}

void list_page_init(struct list_page *page, json_on_value *on_item, void *arg, size_t limit)
{
    *page = (struct list_page){.on_item = on_item, .arg = arg};
    page->stream = json_item_stream_new("items", pass_item, take_metadata, page);
    json_stream_limit(page->stream, limit);
}

void list_page_done(struct list_page *page)
{
    json_stream_free(page->stream);
    free(page->resource_version);
    free(page->next);
    *page = (struct list_page){0};
}

int list_page_add(struct list_page *page, const char *data, size_t length, struct error *error)
{
    struct error why = {0};
    int r = json_stream_add(page->stream, data, length, &why);

    page->is_begun = true;
    if (r == ERR_INVALID && !page->is_refused)
        return err_set(error, ERR_INTERNAL, "UnexpectedAnswer",
                       "the API server's list cannot be read: %s", why.message);
    return r < 0 ? err_copy(error, &why) : 0;
}

int list_page_end(struct list_page *page, struct error *error)
{
    if (json_stream_end(page->stream, NULL) < 0 || !page->resource_version)
        return err_set(error, ERR_UNAVAILABLE, "IncompleteAnswer",
                       "the list ended before it was complete");
    return 0;
}
