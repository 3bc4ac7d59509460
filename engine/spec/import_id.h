/*
 * A resource's extension `kusionstack.io/import-id`: the object that the platform knows by this id
 * is taken over, where the resource's type has such ids. It counts until State has a record of the
 * object that is not in doubt, and State never has it: the id may be a secret, as that of a
 * random_password is.
 */
#pragma once

#define IMPORT_ID "kusionstack.io/import-id"
