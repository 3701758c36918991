import FrontWire
import LedgerPort
import Platform
import Sealing

/// Links that open a content without a token, for a while: for a client that cannot send a header, such as an image in a page.
///
/// A link stands for a token: each use checks again that the token may see the attachment.
struct LinkSigner: Sendable {
  /// What a link opens, and for whom.
  struct Grant: Equatable {
    var attachmentId: String
    /// Of who asked for it.
    var credential: Credential
    /// It is to be saved, and not shown.
    var isDownload: Bool
    /// The name of a derived object; `nil`: the content itself.
    var derived: String?
    /// In seconds since 1970.
    var expires: Int64

    init(attachmentId: String, credential: Credential, isDownload: Bool, expires: Int64) {
      (self.attachmentId, self.credential) = (attachmentId, credential)
      (self.isDownload, self.expires) = (isDownload, expires)
    }

    /// What the query of a link says; `nil`: it is none.
    init?(_ attachmentId: String, _ query: [FrontRequest.Pair]) {
      let values = Dictionary(query.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
      guard values.count == query.count, let expires = values["expires"].flatMap({ Int64($0) }) else {
        return nil
      }
      let credential: Credential
      if let digest = values["token"].flatMap({ Hexadecimal.bytes($0) }) {
        credential = .token(digest)
      } else if let name = values["participant"], let key = values["key"].flatMap({ Hexadecimal.bytes($0) }) {
        // For no longer than the link is good.
        credential = .signed(
          name: name, expiresAt: expires.multipliedReportingOverflow(by: 1000).partialValue, key: key)
      } else {
        return nil
      }
      self.init(
        attachmentId: attachmentId, credential: credential,
        isDownload: values["download"].map { $0 != "0" } ?? false, expires: expires)
      derived = values["derived"]
    }

    /// As ``init(_:_:)`` reads it.
    fileprivate var text: String {
      let holder =
        switch credential {
        case .token(let digest): "token=\(Hexadecimal.text(digest))"
        case .signed(let name, _, let key):
          "participant=\(PercentEncoding.text(name))&key=\(Hexadecimal.text(key))"
        }
      let object = derived.map { "derived=\(PercentEncoding.text($0))&" } ?? ""
      return object + (isDownload ? "download=1&" : "") + "expires=\(expires)&\(holder)"
    }
  }

  /// The usual and the longest time of a link, in seconds.
  static let (usual, longest): (Int64, Int64) = (600, 7 * 86_400)

  private let key: [UInt8]

  /// - Parameter key: `nil`: it is drawn at random, and no link outlives the program.
  init(key: [UInt8]? = nil) throws(SystemError) {
    if let key { self.key = key } else { self.key = try SystemRandom.bytes(KeyDerivation.digestSize) }
  }

  /// When a link ends. For half of its time the same end is answered, so that the same link is, and clients find its content in their
  /// caches.
  static func end(of seconds: Int64, at now: Int64) -> Int64 {
    let half = seconds / 2
    return half == 0 ? now + seconds : (now / half + 2) * half
  }

  /// The query of a link.
  func query(_ grant: Grant) throws -> String {
    "\(grant.text)&signature=\(Hexadecimal.text(try mac(grant)))"
  }

  /// Whether a signature is that of a grant. It takes as long for a wrong one.
  func isSigned(_ grant: Grant, _ signature: String) throws -> Bool {
    let right = try mac(grant)
    guard let given = Hexadecimal.bytes(signature), given.count == right.count else { return false }
    return zip(right, given).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  private func mac(_ grant: Grant) throws -> [UInt8] {
    let message = JSONWriter.array(of: ["a link to a content", grant.attachmentId, grant.text])
    var digest = [UInt8](repeating: 0, count: KeyDerivation.digestSize)
    let isDone = key.withUnsafeBytes { key in
      Array(message.utf8).withUnsafeBytes { message in
        digest.withUnsafeMutableBytes { KeyDerivation.mac(key, message, $0) }
      }
    }
    if !isDone { throw SystemError("signing a link", code: 5) }
    return digest
  }
}
