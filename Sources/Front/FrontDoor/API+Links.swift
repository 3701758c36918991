import FrontWire
import Ledger
import Platform

extension API {
  /// A link to the content of an attachment.
  func link(_ record: AttachmentRecord, _ request: FrontRequest) throws -> FrontReply {
    var grant = LinkSigner.Grant(
      attachmentId: record.origin.id, token: tokenDigest(of: request) ?? [], isDownload: false,
      expires: Clock.now() / 1000 + LinkSigner.longest)
    for pair in request.query {
      switch pair.name {
      case "seconds":
        guard let seconds = Int64(pair.value), (1...LinkSigner.longest).contains(seconds) else {
          throw Self.invalid("seconds", "is a number from 1 to \(LinkSigner.longest)")
        }
        grant.expires = Clock.now() / 1000 + seconds
      case "download": grant.isDownload = pair.value != "0"
      default:
        throw Problem(
          400, "no-such-parameter", "there is no parameter '\(pair.name)' here",
          remedy: "those are seconds and download")
      }
    }
    let place = "/v1/attachments/\(record.origin.id)/content?\(try links.query(grant))"
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("url", place)
      writer.member("expiresAt", Clock.timestamp(grant.expires * 1000))
    }
    return Self.json(writer.text)
  }

  /// The token that a link stands for; `nil`: the request comes with no link.
  func linked(_ request: FrontRequest, _ route: Route, _ id: String) throws -> AccessToken? {
    guard route == .content, request.values("authorization").isEmpty else { return nil }
    let values = Dictionary(
      request.query.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    guard let signature = values["signature"] else { return nil }
    let grant = LinkSigner.Grant(
      attachmentId: id, token: values["token"].flatMap { Hexadecimal.bytes($0) } ?? [],
      isDownload: values["download"].map { $0 != "0" } ?? false,
      expires: values["expires"].flatMap { Int64($0) } ?? 0)
    guard request.query.count == values.count, try links.isSigned(grant, signature),
      grant.expires > Clock.now() / 1000, let token = try ledger.token(hash: grant.token),
      token.isValid(at: Clock.now())
    else {
      throw Problem(
        401, "unauthorized",
        "this link has expired, was changed, or stands for a token that is worth nothing any more",
        remedy: "ask for another at /v1/attachments/{id}/link")
    }
    return token
  }
}
