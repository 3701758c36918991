/* A module map cannot search the include path for its header; this file can. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
