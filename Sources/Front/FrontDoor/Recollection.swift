import FrontWire
import LedgerPort
import Platform

/// What was looked up in the ledger and holds for as long as nothing changes there: clients ask for the same record, with the same
/// token, until it says what they wait for.
///
/// All of it is forgotten with the first change of the ledger, so that a token that is revoked is worth nothing at the next request.
final class Recollection {
  private struct Asked: Hashable {
    /// By their bytes: texts are equal to Swift that are two names.
    var id, name: ByteText
    var role: AccessToken.Role
  }

  /// Of a token. An array would be hashed byte by byte.
  private struct Digest: Hashable {
    let bytes: [UInt8]

    func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
  }

  private var generation: Int64?
  private var tokens: [Digest: AccessToken] = [:]
  private var replies: [Asked: FrontReply] = [:]

  /// So many of each are remembered, of at most so many bytes.
  private static let (most, longest) = (200, 8 << 10)

  /// The ledger is of this generation now.
  func follow(_ generation: Int64) {
    if generation == self.generation { return }
    self.generation = generation
    if !tokens.isEmpty { tokens.removeAll(keepingCapacity: true) }
    if !replies.isEmpty { replies.removeAll(keepingCapacity: true) }
  }

  /// The token with this digest; whether it is still valid is not remembered.
  func token(_ bytes: [UInt8], _ read: () throws -> AccessToken?) rethrows -> AccessToken? {
    let digest = Digest(bytes: bytes)
    if let known = tokens[digest] { return known }
    guard let token = try read() else { return nil }
    if tokens.count >= Self.most { tokens.removeAll(keepingCapacity: true) }
    tokens[digest] = token
    return token
  }

  /// The answer to a request for an attachment.
  ///
  /// - Parameter read: reads it, and says whether time alone changes nothing of it.
  func reply(
    _ id: String, to token: AccessToken, _ read: () throws -> (FrontReply, lasts: Bool)
  ) rethrows -> FrontReply {
    let asked = Asked(id: ByteText(id), name: ByteText(token.name), role: token.role)
    if let known = replies[asked] { return known }
    let (reply, lasts) = try read()
    if !lasts || reply.length > Self.longest { return reply }
    if replies.count >= Self.most { replies.removeAll(keepingCapacity: true) }
    replies[asked] = reply
    return reply
  }
}
