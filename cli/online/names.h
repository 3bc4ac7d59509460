/*
 * Ids, times and numbers as people read them. Pure functions.
 */
#pragma once

#include <stdint.h>

/* "Deployment/web" of "apps/v1:Deployment:shop:web"; "Deployment/web in shop" where its namespace
 * is not `namespace_name`; "random_password/db" of "hashicorp:random:random_password:db". An id of
 * another form stays as it is. free(). */
char *name_of_id(const char *id, const char *namespace_name);

/* ms since 1970 of a time as Kubernetes writes it, with parts of a second or without; 0: it is
 * none. */
int64_t time_of(const char *text);

/* "45s", "12m", "3h", "5d", as kubectl writes ages; "?" of a time that is 0. */
char *age_since(int64_t time, int64_t now);
/* Of a duration as a Release has it: "28ms", "20.3s", "5m02s", "1h03m"; "" of NULL and of what is
 * none. free(). */
char *took_text(const char *duration);
