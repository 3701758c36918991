import Foundation
import Testing

/// Sends probes to a running server, and finds what it does otherwise than it may.
final class ProbeRun {
  let port: UInt16
  private let isSecure: Bool
  /// What stands for words in the probes.
  private let words: [(word: String, value: String)]
  /// A connection that is used all the time.
  private var marked: RawConnection?
  private var marks = 0

  /// - Parameters:
  ///   - served: has the pipeline ``pipeline``.
  ///   - port: where the probes go; `nil`: to the server itself.
  init(_ served: ServedHome, port: UInt16? = nil, isSecure: Bool = false) throws {
    (self.port, self.isSecure) = (port ?? served.port, isSecure)
    let token = try served.token("ann")
    let posted = try served.ask(
      "POST", "/v1/attachments?filename=0.txt", token: token, body: Data(Self.content.utf8))
    let id = try posted.decoded(Created.self).id
    try Resident.wait("there is a content") {
      try served.ask("GET", "/v1/attachments/\(id)/content", token: token).status == 200
    }
    let client = TusClient(served: served, token: token)
    upload = try client.begin(Data(count: 10), name: "a.txt")
    (self.client, attachment) = (client, id)
    let name = upload.split(separator: "/").last.map(String.init) ?? ""
    words = [("TOKEN", token), ("ATTACHMENT", id), ("UPLOAD", name)]
  }

  let client: TusClient
  let attachment: String
  /// The place of an upload of 10 bytes that no probe adds to.
  let upload: String

  static let content = "text number 0\n"

  /// Small contents are allowed, and no private addresses.
  static let pipeline =
    Pipelines.open
    + "\nserve: { max-size: 100KB, max-image-size: 100KB }\nlanes: { downloads: { use: http } }\n"

  private struct Created: Decodable { var id: String }

  func connect() throws -> RawConnection { try RawConnection(port: port, isSecure: isSecure) }

  func bytes(of probe: Probe) -> [UInt8] {
    let text = words.reduce(probe.text) { $0.replacingOccurrences(of: $1.word, with: $1.value) }
    return text.unicodeScalars.map { UInt8($0.value) }
  }

  // MARK: Without a proxy

  /// What a server does otherwise than the probe says.
  func faults(_ probe: Probe) throws -> [String] {
    let connection = try connect()
    connection.send(bytes(of: probe))
    var faults: [String] = []
    var last: RawConnection.Answer?
    for (index, statuses) in probe.answers.enumerated() {
      guard let answer = connection.answer(isHead: probe.isHead && index == 0, within: 2000) else {
        return ["there is no answer \(index + 1)"]
      }
      if !statuses.contains(answer.status) {
        faults.append(
          "answer \(index + 1) is \(answer.status), not \(statuses.sorted()): \(answer.text.prefix(80))")
      }
      faults += Self.faults(in: answer)
      last = answer
    }
    if probe.isContinued {
      _ = connection.answer(within: 200)
      if connection.interim != [100] { faults.append("100 does not come: \(connection.interim)") }
    }
    switch probe.ending {
    case .closed:
      if !connection.isClosed() { faults.append("the connection is not closed, or there is another answer") }
      if last?.field("connection") != "close" { faults.append("it does not say that it closes") }
    case .kept:
      if last?.field("connection") == "close" { faults.append("it says that it closes") }
      if !isAlive(connection) { faults.append("the next request is not answered") }
    case .either: break
    case .waits:
      if connection.answer(within: 60) != nil || connection.isOver { faults.append("it does not wait") }
    }
    return faults
  }

  private func isAlive(_ connection: RawConnection) -> Bool {
    connection.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    let answer = connection.answer(within: 1000)
    return answer?.status == 200 && answer?.text == "ok\n"
  }

  private static func faults(in answer: RawConnection.Answer) -> [String] {
    var faults: [String] = []
    let names = answer.fields.map(\.name)
    for name in ["date", "content-length", "content-type", "transfer-encoding", "connection"]
    where names.count(where: { $0 == name }) > 1 {
      faults.append("\(name) stands there twice")
    }
    if !names.contains("date") { faults.append("it has no date") }
    if names.contains("content-length") == names.contains("transfer-encoding")
      && ![204, 304].contains(answer.status)
    {
      faults.append("where its body ends is not said, or twice")
    }
    return faults
  }

  /// Whether a request on a new connection is answered rightly within a second.
  func isWell() -> Bool {
    guard let connection = try? connect() else { return false }
    connection.send("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
    let answer = connection.answer(within: 1000)
    return answer?.status == 200 && answer?.text == "{\"ready\":true,\"paused\":[]}\n"
  }

  // MARK: Behind a proxy

  /// Sends a probe, whatever is answered: what a proxy refuses, repairs or passes on is its own affair. Nothing of it may be left
  /// for others who share its connections to the server.
  func faultsBehindProxy(_ probe: Probe) throws -> [String] {
    let connection = try connect()
    connection.send(bytes(of: probe))
    for index in 0..<max(probe.answers.count, 1) where probe.ending != .waits {
      guard connection.answer(isHead: probe.isHead && index == 0, within: 1000) != nil else { break }
    }
    var faults: [String] = []
    if !isWell() { faults.append("another request is not answered within a second") }
    for _ in 0..<2 {
      if let fault = try markFault() { faults.append(fault) }
    }
    connection.close()
    return faults
  }

  /// Asks for something that has a number of its own in its answer.
  private func markFault() throws -> String? {
    marks += 1
    let mark = "mark-\(marks)-"
    for isSecondTry in [false, true] {
      if marked == nil { marked = try connect() }
      marked?.send(
        "GET /v1/attachments?\(mark) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(client.token)\r\n\r\n")
      guard let answer = marked?.answer(within: 1000) else {
        // A proxy may close a connection at any time.
        let isOver = marked?.isOver ?? true
        marked = nil
        if isOver && !isSecondTry { continue }
        return "a marked request is not answered"
      }
      if answer.status == 400 && answer.text.contains("'\(mark)'") { return nil }
      return "a marked request gets another answer: \(answer.status) \(answer.text.prefix(100))"
    }
    return nil
  }
}
