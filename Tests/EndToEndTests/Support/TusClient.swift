import Foundation
import Testing

/// A client of tus 1.0.0 that goes on where it was, as an app does.
struct TusClient {
  let served: ServedHome
  let token: String

  private static let version = "Tus-Resumable: 1.0.0"
  private static let octets = "Content-Type: application/offset+octet-stream"

  /// - Returns: the place of the upload.
  func begin(_ content: Data, name: String, _ metadata: [(String, String)] = []) throws -> String {
    let pairs = ([("filename", name)] + metadata).map { "\($0.0) \(Data($0.1.utf8).base64EncodedString())" }
    let answer = try served.ask(
      "POST", "/v1/uploads", token: token,
      [Self.version, "Upload-Length: \(content.count)", "Upload-Metadata: \(pairs.joined(separator: ","))"],
      body: Data())
    try #require(answer.status == 201, "\(answer.status) \(answer.text)")
    return try #require(answer.fields["location"])
  }

  struct State {
    var offset: Int
    var attachment: String?
  }

  func state(_ place: String) throws -> State {
    let answer = try served.ask("HEAD", place, token: token, [Self.version])
    try #require(answer.status == 200, "\(answer.status)")
    return State(
      offset: try #require(answer.fields["upload-offset"].flatMap { Int($0) }),
      attachment: answer.fields["attachment-id"])
  }

  /// - Parameter leaving: after so many bytes the client is gone.
  @discardableResult
  func append(_ content: Data, at offset: Int, to place: String, leaving: Int? = nil) throws
    -> ServedHome
    .Answer
  {
    try served.ask(
      "PATCH", place, token: token, [Self.version, Self.octets, "Upload-Offset: \(offset)"],
      body: content.dropFirst(offset), leaving: leaving)
  }

  /// Goes on until all is there, through lost connections and servers that are away.
  ///
  /// - Parameter lost: is called each time, and may throw to give it up.
  /// - Returns: the id of the attachment.
  func finish(_ content: Data, _ place: String, lost: () throws -> Void = {}) throws -> String {
    for _ in 0..<1000 {
      do {
        let state = try state(place)
        if let attachment = state.attachment { return attachment }
        let answer = try append(content, at: state.offset, to: place)
        if let attachment = answer.fields["attachment-id"] { return attachment }
        // 503: the coordinator is going, or its ledger is not there yet.
        if answer.status == 503 { usleep(20_000) }
      } catch is ServedHome.Lost {
        try lost()
        usleep(20_000)
      }
    }
    throw ServedHome.Lost()
  }
}
