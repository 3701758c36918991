import FrontWire
import LedgerPort
import Platform

extension API {
  /// The number of links that one request may ask for.
  private static let mostLinks = 200

  /// A link to the content of an attachment.
  func link(_ record: AttachmentRecord, _ request: FrontRequest) throws -> FrontReply {
    var wish = LinkWish()
    for pair in request.query {
      switch pair.name {
      case "seconds":
        guard let seconds = Int64(pair.value), (1...LinkSigner.longest).contains(seconds) else {
          throw Self.invalid("seconds", "is a number from 1 to \(LinkSigner.longest)")
        }
        wish.seconds = seconds
      case "derived": wish.derived = pair.value
      case "download": wish.isDownload = try Self.isDownload(request)
      default: throw Problem.noSuchParameter(pair.name, .link)
      }
    }
    guard let link = try link(record, wish, credential(of: request) ?? .token([])) else {
      throw Problem(404, "no-such-object", "it has no derived object of this name")
    }
    return Self.json(Self.text { Self.write(link, to: &$0) })
  }

  /// Links to the contents of several attachments.
  func links(_ request: FrontRequest, _ token: AccessToken) throws -> Answer {
    try Self.requireJSON(request)
    let credential = credential(of: request) ?? .token([])
    return .body { api, bytes in
      let given = try BodyMembers(bytes, ["attachments", "seconds", "derived", "download"], api.parser)
      let ids = try given.required("attachments", try given.texts("attachments"))
      var wish = LinkWish()
      wish.seconds = try given.number("seconds", least: 1) ?? wish.seconds
      (wish.derived, wish.isDownload) = (try given.text("derived"), try given.boolean("download") ?? false)
      if ids.count > Self.mostLinks || wish.seconds > LinkSigner.longest {
        throw Problem(
          400, "invalid-body",
          "in the body: there are at most \(Self.mostLinks) 'attachments' and \(LinkSigner.longest) 'seconds'"
        )
      }
      let links = try ids.map { id in
        do {
          return (id, try api.link(try api.record(id, .link, token), wish, credential))
        } catch is Problem {
          return (id, nil)
        }
      }
      return .reply(
        Self.json(
          Self.text { writer in
            writer.key("links")
            writer.array { writer in
              for (id, link) in links {
                writer.object {
                  $0.member("id", id)
                  Self.write(link, to: &$0)
                }
              }
            }
          }))
    }
  }

  private struct LinkWish {
    var seconds = LinkSigner.usual
    var derived: String?
    var isDownload = false
  }

  private typealias Link = (url: String, expires: Int64)

  /// - Returns: `nil`: there is no derived object of this name.
  private func link(_ record: AttachmentRecord, _ wish: LinkWish, _ credential: Credential) throws -> Link? {
    if let derived = wish.derived, !record.outcome.derived.contains(where: { $0.name == derived }) {
      return nil
    }
    var grant = LinkSigner.Grant(
      attachmentId: record.origin.id, credential: credential, isDownload: wish.isDownload,
      expires: LinkSigner.end(of: wish.seconds, at: Clock.now() / 1000))
    grant.derived = wish.derived
    // The link ends with a signed token, at the latest.
    if case .signed(_, let expiresAt, _) = credential { grant.expires = min(grant.expires, expiresAt / 1000) }
    return (
      (rules.publicURL ?? "") + "/v1/attachments/\(record.origin.id)/content?\(try links.query(grant))",
      grant.expires
    )
  }

  private static func write(_ link: Link?, to writer: inout JSONWriter) {
    writer.member("url", link?.url)
    writer.member("expiresAt", link.map { Clock.timestamp($0.expires * 1000) })
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

  /// How long a client may keep a content, in seconds, where it comes by a link; `nil`: it asks each time.
  static func keepingTime(_ request: FrontRequest) -> Int64? {
    guard let end = request.query.first(where: { $0.name == "expires" }).flatMap({ Int64($0.value) }),
      request.query.contains(where: { $0.name == "signature" }),
      request.values("authorization").allSatisfy({ bearer($0) == nil })
    else { return nil }
    return min(max(end - Clock.now() / 1000, 0), 3600)
  }
}
