import Outbound

/// What was asked of a server, and what is known of the content.
struct Question {
  enum Method: String {
    case get = "GET"
    case post = "POST"
  }

  var link: WebURL
  var method = Method.get
  /// `nil`: all of it is asked for.
  var resume: ResumePlan?
  var form = ResponseForm.body
  /// Bytes of content that are allowed.
  var limit: Int64
  var expectedSize: Int64?
  /// The request for it names the SHA-256, which the host compares.
  var knowsHash = false
  var declaredType: String?
  /// A credential went along.
  var isTrusted = false
  /// Another server than the one that was asked has led here.
  var isRedirected = false
  /// It was asked again from the start, since the file had changed.
  var hasRestarted = false
}
