#include "engine/threads/permit.h"

int permit_ask(const struct permit *permit, enum permit_use use, struct error *error)
{
    return permit && permit->ask ? permit->ask(permit->arg, use, error) : 0;
}
