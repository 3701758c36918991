import FrontWire
import Pipeline

/// What all answers have that a client gets: fields for pages of other origins (https://fetch.spec.whatwg.org), and places as they are
/// beyond the proxy.
struct Dressing: Sendable {
  /// Of pages that may ask, beside those of this server.
  private let origins: [String]
  /// What stands before each path, with the host: some clients take no place without one. Empty: nothing, since a proxy in front may
  /// have any name.
  private let publicURL: String
  private let rules: ServeRules

  init(_ rules: ServeRules) {
    (origins, self.rules) = (rules.origins, rules)
    publicURL = rules.publicURL ?? ""
  }

  /// The answer, as a client is to get it.
  func dressed(_ reply: FrontReply, for request: FrontRequest) -> FrontReply {
    var reply = reply
    if request.segments.prefix(2) == ["v1", "uploads"], UploadDraft(request, rules) == nil {
      reply.fields.append(Tus.version)
    }
    if !publicURL.isEmpty {
      for index in reply.fields.indices
      where Self.places.contains(reply.fields[index].name) && reply.fields[index].value.hasPrefix("/") {
        reply.fields[index].value = publicURL + reply.fields[index].value
      }
    }
    if origins.isEmpty { return reply }
    reply.fields.append(.init("Vary", "Origin"))
    for index in reply.fields.indices where reply.fields[index].name == "Cross-Origin-Resource-Policy" {
      reply.fields[index].value = "cross-origin"
    }
    if let origin = allowed(request) {
      reply.fields.append(.init("Access-Control-Allow-Origin", origin))
      reply.fields.append(.init("Access-Control-Expose-Headers", Self.exposed))
    }
    return reply
  }

  /// What a browser asks before it sends a request for a page of another origin; `nil`: it is no such question.
  func preflight(_ request: FrontRequest, methods: [String]) -> FrontReply? {
    guard request.method == "OPTIONS", !request.values("access-control-request-method").isEmpty,
      allowed(request) != nil
    else { return nil }
    return FrontReply(
      204,
      [
        .init("Access-Control-Allow-Methods", methods.joined(separator: ", ")),
        .init(
          "Access-Control-Allow-Headers",
          ([Self.allowedHeaders] + rules.originHeaders).joined(separator: ", ")),
        .init("Access-Control-Max-Age", "7200"),
      ])
  }

  /// The page's origin, where it may ask.
  private func allowed(_ request: FrontRequest) -> String? {
    request.field("origin").flatMap { origins.contains($0) ? $0 : nil }
  }

  private static let places = ["Location", "Content-Location"]

  private static let exposed =
    "Accept-Ranges, Location, Content-Location, Content-Disposition, Content-Range, ETag, Retry-After, Attachment-Id, Tus-Resumable, "
    + "Tus-Version, Tus-Extension, Tus-Max-Size, Tus-Checksum-Algorithm, Upload-Offset, Upload-Length, "
    + "Upload-Defer-Length, Upload-Metadata, Upload-Concat, Upload-Expires, Upload-Complete, Upload-Limit, "
    + "Upload-Draft-Interop-Version, Accept-Patch"

  private static let allowedHeaders =
    "Authorization, Content-Type, Range, If-Range, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, "
    + "Last-Event-ID, Prefer, Traceparent, X-HTTP-Method-Override, X-Request-ID, X-Requested-With, Tus-Resumable, Upload-Offset, "
    + "Upload-Length, Upload-Defer-Length, Upload-Metadata, Upload-Concat, Upload-Checksum, Upload-Complete, "
    + "Upload-Draft-Interop-Version, Content-Disposition, Content-Digest, Repr-Digest"
}
