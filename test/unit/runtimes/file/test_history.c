/* The history of documents, in files. */
#include "runtimes/file/store.h"
#include "test/unit/engine/history_contract.h"
#include "test/unit/runtimes/file/folder.h"
#include "test/unit/suite.h"

static void keeps_the_contract(void)
{
    char *folder = folder_new();
    struct store *store = file_store_new(folder);

    history_contract_check_store(store);
    store->ops->free(store);
    folder_free(folder);
}

SUITE(file_history, TEST(keeps_the_contract))
