/* A module map cannot search the include path for its header; this file can. */
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

/* Made of other macros, which Swift does not see through. */
static const int sluice_public_key = EVP_PKEY_PUBLIC_KEY;
