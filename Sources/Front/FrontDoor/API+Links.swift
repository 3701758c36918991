import FrontWire
import LedgerPort
import Platform

extension API {
  /// A link to the content of an attachment.
  func link(_ record: AttachmentRecord, _ request: FrontRequest) throws -> FrontReply {
    var grant = LinkSigner.Grant(
      attachmentId: record.origin.id, credential: credential(of: request) ?? .token([]), isDownload: false,
      expires: Clock.now() / 1000 + LinkSigner.longest)
    for pair in request.query {
      switch pair.name {
      case "seconds":
        guard let seconds = Int64(pair.value), (1...LinkSigner.longest).contains(seconds) else {
          throw Self.invalid("seconds", "is a number from 1 to \(LinkSigner.longest)")
        }
        grant.expires = Clock.now() / 1000 + seconds
      case "derived":
        guard record.outcome.derived.contains(where: { $0.name == pair.value }) else {
          throw Problem(404, "no-such-object", "it has no derived object of this name")
        }
        grant.derived = pair.value
      case "download": grant.isDownload = try Self.isDownload(request)
      default: throw Problem.noSuchParameter(pair.name, .link)
      }
    }
    // What it stands for ends then.
    if case .signed(_, let expiresAt, _) = grant.credential {
      grant.expires = min(grant.expires, expiresAt / 1000)
    }
    let place =
      (rules.publicURL ?? "") + "/v1/attachments/\(record.origin.id)/content?\(try links.query(grant))"
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("url", place)
      writer.member("expiresAt", Clock.timestamp(grant.expires * 1000))
    }
    return Self.json(writer.text)
  }

  /// The token that a link stands for; `nil`: the request comes with no link, or with a token of its own.
  ///
  /// A proxy in front may want a password, which browsers then send here, too (`Authorization: Basic`).
  func linked(_ request: FrontRequest, _ route: Route, _ id: String) throws -> AccessToken? {
    guard route == .content, request.values("authorization").allSatisfy({ Self.bearer($0) == nil }) else {
      return nil
    }
    guard let signature = request.query.first(where: { $0.name == "signature" })?.value else { return nil }
    guard let grant = LinkSigner.Grant(id, request.query), try links.isSigned(grant, signature),
      grant.expires > Clock.now() / 1000, let token = try token(of: grant.credential),
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
