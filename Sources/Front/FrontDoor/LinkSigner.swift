import FrontWire
import LedgerPort
import Platform
import Sealing

/// Links that open a content without a token, for a few minutes: for what cannot send a header, such as an image in a page.
///
/// Such a link stands for the token that asked for it: what that may see is looked up again when the link is used. Its key is drawn
/// when the program starts, so that no link outlives it.
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

  /// Seconds that a link may be good for.
  static let longest: Int64 = 600

  private let key: [UInt8]

  init() throws(SystemError) { key = try SystemRandom.bytes(KeyDerivation.digestSize) }

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
