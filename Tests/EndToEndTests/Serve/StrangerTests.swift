import Foundation
import Glibc
import Testing

/// Who may not see something cannot tell it from what is not there.
@Suite(.serialized)
struct StrangerTests {
  private let served: ServedHome
  private let eve: String
  /// An attachment of ann's, and an upload.
  private let attachment: String
  private let upload: String

  init() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    served = try ServedHome(folder, options: ["--config", "pipeline.yaml"])
    let (ann, served) = (try served.token("ann"), served)
    eve = try served.token("eve")
    struct Created: Decodable { var id: String }
    attachment = try served.ask(
      "POST", "/v1/attachments?filename=a.txt", token: ann, body: Data("a text\n".utf8)
    ).decoded(Created.self).id
    upload = try TusClient(served: served, token: ann).begin(Data(count: 10), name: "a.bin")
    try Resident.wait("there is a content") {
      try served.ask("HEAD", "/v1/attachments/\(attachment)/content", token: ann).status == 200
    }
  }

  /// With another last letter, as nobody's is.
  private func other(_ id: String) -> String { id.dropLast() + (id.last == "0" ? "1" : "0") }

  @Test func theAnswersAreTheSameToTheByte() throws {
    let record = "/v1/attachments/"
    let tus = ["Tus-Resumable: 1.0.0"]
    let bytes = tus + ["Content-Type: application/offset+octet-stream", "Upload-Offset: 0"]
    var asked: [(String, String, String, [String], Data?)] = []
    for token in [eve, "nonsense"] {
      for (method, end) in [
        ("GET", ""), ("HEAD", ""), ("GET", "/content"), ("HEAD", "/content"), ("GET", "/link"),
        ("POST", "/retry"), ("DELETE", ""), ("GET", "/content?encoding=base64"), ("OPTIONS", ""),
      ] {
        asked.append((method, token, record + "ID" + end, [], nil))
      }
      asked.append(("GET", token, record + "ID/content", ["Range: bytes=0-1", "If-None-Match: *"], nil))
      asked.append(("HEAD", token, "UPLOAD", tus, nil))
      asked.append(("DELETE", token, "UPLOAD", tus, nil))
      asked.append(("PATCH", token, "UPLOAD", bytes, Data(count: 10)))
      asked.append(("PATCH", token, "UPLOAD", bytes, Data(count: 99)))
    }
    for (method, token, path, fields, body) in asked {
      func ask(_ attachment: String, _ upload: String) throws -> ServedHome.Answer {
        let place = path.replacingOccurrences(of: "UPLOAD", with: upload)
          .replacingOccurrences(of: "ID", with: attachment)
        return try served.ask(method, place, token: token, fields, body: body)
      }
      let theirs = try ask(attachment, upload)
      let absent = try ask(other(attachment), other(upload))
      #expect(theirs.status == absent.status && theirs.body == absent.body, "\(method) \(path)")
      let differing = theirs.fields.filter { absent.fields[$0.key] != $0.value && $0.key != "date" }
      #expect(differing.isEmpty && theirs.fields.count == absent.fields.count, "\(method) \(path)")
      #expect(
        method == "OPTIONS" || [401, 404].contains(theirs.status), "\(method) \(path): \(theirs.status)")
    }
    #expect(served.stop() == 0)
  }

  /// The medians of many, asked in turns, are as far apart as those of the same asked twice may be, several times over.
  @Test(.enabled(if: Soak.isOn, Soak.skipped)) func theAnswersTakeAsLong() throws {
    let connection = try RawConnection(port: served.port)
    func time(_ id: String) throws -> Double {
      let began = DispatchTime.now().uptimeNanoseconds
      connection.send(
        "GET /v1/attachments/\(id) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(eve)\r\n\r\n")
      try #require(connection.answer()?.status == 404)
      return Double(DispatchTime.now().uptimeNanoseconds - began) / 1000
    }
    let (theirs, absent) = (attachment, other(attachment))
    var times: [[Double]] = [[], [], []]
    for round in 0..<6000 {
      for kind in round % 2 == 0 ? [0, 1, 2] : [2, 1, 0] {
        times[kind].append(try time(kind == 0 ? theirs : absent))
      }
    }
    let medians = times.map { $0.sorted()[$0.count / 2] }
    let noise = abs(medians[1] - medians[2])
    let difference = abs(medians[0] - (medians[1] + medians[2]) / 2)
    print("not yours \(medians[0]) us; not there \(medians[1]) and \(medians[2]) us")
    #expect(difference < max(noise * 5, medians[1] * 0.06))
    Soak.row("times of not yours and of not there", tries: times.joined().count, failures: 0)
    #expect(served.stop() == 0)
  }
}
