/*
 * The API group of our kinds, as crds/ has it.
 */
#ifndef CONTROLLER_CORE_GROUP_H
#define CONTROLLER_CORE_GROUP_H

#define API_GROUP_VERSION "api.kusion.io/v1"

#endif
