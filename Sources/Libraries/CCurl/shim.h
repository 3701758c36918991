/* libcurl's setters and getters are variadic, and Swift imports no variadic functions. Each function here
 * takes one type of value, so that a value of another type does not compile. */
#include <curl/curl.h>

/* Sets a number or a switch. */
static inline CURLcode sluice_curl_set_number(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}
/* Sets a text, which libcurl copies. */
static inline CURLcode sluice_curl_set_text(CURL *handle, CURLoption option, const char *text) {
  return curl_easy_setopt(handle, option, text);
}
/* Sets a pointer that libcurl does not copy: a body, a buffer, the context of a callback. The caller keeps it
 * alive. */
static inline CURLcode sluice_curl_set_pointer(CURL *handle, CURLoption option, const void *pointer) {
  return curl_easy_setopt(handle, option, pointer);
}
/* Sets the callback that receives headers or body. */
static inline CURLcode sluice_curl_on_receive(CURL *handle, CURLoption option, curl_write_callback callback) {
  return curl_easy_setopt(handle, option, callback);
}
/* Sets the callback that creates a socket for the address to connect to. */
static inline CURLcode sluice_curl_on_socket(CURL *handle, curl_opensocket_callback callback) {
  return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, callback);
}
/* Sets the callback that gets the context of a secure connection before it is used. */
static inline CURLcode sluice_curl_on_tls(CURL *handle, curl_ssl_ctx_callback callback) {
  return curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, callback);
}
/* The file of certificate authorities libcurl was built with, or NULL. CURLVERSION_NOW names an enumerator
 * through a macro, which Swift does not import. */
static inline const char *sluice_curl_certificates_path(void) { return curl_version_info(CURLVERSION_NOW)->cainfo; }
static inline CURLMcode sluice_curl_multi_set_number(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}
/* Gets a long as Swift's Int. */
static inline CURLcode sluice_curl_get_number(CURL *handle, CURLINFO info, long *value) {
  return curl_easy_getinfo(handle, info, value);
}
/* Gets a 64-bit number. */
static inline CURLcode sluice_curl_get_offset(CURL *handle, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(handle, info, value);
}
/* Gets a text, which lives as long as libcurl says. */
static inline CURLcode sluice_curl_get_text(CURL *handle, CURLINFO info, const char **text) {
  return curl_easy_getinfo(handle, info, text);
}
