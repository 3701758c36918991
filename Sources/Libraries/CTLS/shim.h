/* Certificates that are read once and used by each connection. What OpenSSL offers for that are macros, or loops over its own
 * lists. */
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

/* Reads all certificates of a text in PEM form. Returns how many there are; the caller frees the store. */
static inline int sluice_tls_read_store(const void *text, int count, X509_STORE **result) {
  *result = NULL;
  BIO *input = BIO_new_mem_buf(text, count);
  X509_STORE *store = X509_STORE_new();
  if (!input || !store) {
    BIO_free(input);
    X509_STORE_free(store);
    return 0;
  }
  /* As libcurl sets them for a store of its own. */
  X509_STORE_set_flags(store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
  int found = 0;
  for (X509 *certificate; (certificate = PEM_read_bio_X509(input, NULL, NULL, NULL)) != NULL; X509_free(certificate))
    if (X509_STORE_add_cert(store, certificate)) found++;
  ERR_clear_error(); /* the end of the text counts as an error */
  BIO_free(input);
  *result = store;
  return found;
}

/* Has the connections of a context trust a store, which they share. */
static inline void sluice_tls_trust(void *context, X509_STORE *store) { SSL_CTX_set1_cert_store((SSL_CTX *)context, store); }
