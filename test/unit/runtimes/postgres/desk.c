#include "test/unit/runtimes/postgres/desk.h"

#include <string.h>

#include "engine/base/buf.h"

static const struct document_name name = {DOCUMENT_STATE, {"team", "web"}, NULL};

void desk_init(struct desk *desk, struct store *store)
{
    *desk = (struct desk){.store = store};
    if (store->ops->open(store, &name, STORE_WRITE, &desk->call, &desk->file, NULL) < 0)
        abort();
}

void desk_close(struct desk *desk)
{
    desk->store->ops->close(desk->file);
}

void desk_done(struct desk *desk)
{
    desk_close(desk);
    desk->store->ops->free(desk->store);
}

int desk_write(struct desk *desk, const char *text)
{
    struct document document = DOCUMENT_INIT;
    int r;

    buf_add_str(&document.open, text);
    buf_add_str(&document.secret, "secret");
    err_clear(&desk->error);
    r = desk->store->ops->write(desk->file, &desk->call, &document, &desk->error);
    document_done(&document);
    return r;
}

int desk_append(struct desk *desk, const char *text)
{
    err_clear(&desk->error);
    return desk->store->ops->append(desk->file, &desk->call, text, strlen(text), &desk->error);
}

int desk_remove(struct desk *desk)
{
    err_clear(&desk->error);
    return desk->store->ops->remove(desk->file, &desk->call, &desk->error);
}

int desk_read(struct desk *desk, char **ret)
{
    struct document document = DOCUMENT_INIT;
    _cleanup_buf_ struct buf text = BUF_INIT;
    int r;

    err_clear(&desk->error);
    r = desk->store->ops->read(desk->file, &desk->call, &document, &desk->error);
    if (r == 0) {
        buf_add_str(&text, document.open.data);
        for (size_t i = 0; i < document.n_entries; i++)
            buf_printf(&text, " %s", document.entries[i].data);
        *ret = buf_take(&text);
    }
    document_done(&document);
    return r;
}

int desk_read_in(struct store *store, char **ret, struct error *error)
{
    struct desk desk;
    int r;

    desk_init(&desk, store);
    r = desk_read(&desk, ret);
    if (error)
        *error = desk.error;
    desk_close(&desk);
    return r;
}

int desk_read_by(struct store *store, char **ret, struct error *error)
{
    int r = desk_read_in(store, ret, error);

    store->ops->free(store);
    return r;
}
