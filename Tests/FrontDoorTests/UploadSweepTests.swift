import Foundation
import FrontWire
import Glibc
import HomeFolder
import LedgerPort
import Pipeline
import Platform
import Testing

@testable import FrontDoor

/// What becomes of uploads that nobody goes on with, and of files that nobody needs.
struct UploadSweepTests {
  private static let octets = "application/offset+octet-stream"

  private func begin(_ desk: UploadDesk, _ length: Int, _ body: [UInt8]? = nil) throws -> String {
    var fields = ["upload-length": "\(length)"]
    if body != nil { fields["content-type"] = Self.octets }
    let reply = try desk.ask("POST", "/v1/uploads", "t", fields, body)
    try #require(reply?.status == 201, "\(String(describing: reply))")
    return try #require(reply?.field("Location")?.split(separator: "/").last.map(String.init))
  }

  private func sweep(_ desk: UploadDesk, begun: Int64 = 0, isUsed: Bool = false) throws {
    try desk.apply(try desk.api.sweepUploads(begun: begun, isUsed: { _ in isUsed }))
  }

  private func desk(uploadTime: Int64 = 86_400_000) throws -> UploadDesk {
    var rules = ServeRules()
    rules.uploadTime = uploadTime
    let desk = try UploadDesk(rules: rules)
    try desk.addToken("t", "ann")
    return desk
  }

  @Test func oneThatTookTooLongIsGivenUpUnlessARequestIsAtIt() throws {
    let desk = try desk(uploadTime: 0)
    let id = try begin(desk, 10, [1, 2, 3])
    usleep(3000)
    #expect(try desk.ask("HEAD", "/v1/uploads/\(id)", "t")?.status == 410)
    try sweep(desk, isUsed: true)
    #expect(desk.files == [id])
    try sweep(desk)
    #expect(desk.files.isEmpty)
    #expect(try desk.ask("HEAD", "/v1/uploads/\(id)", "t")?.status == 404)
  }

  @Test func oneThatIsWholeAndWasNotTakenInIsTakenIn() throws {
    let desk = try desk()
    let id = try begin(desk, 3)
    let killed = try desk.ask(
      "PATCH", "/v1/uploads/\(id)", "t", ["upload-offset": "0", "content-type": Self.octets], [1, 2, 3],
      .killed(3))
    #expect(killed == nil)
    #expect(try desk.attachments().isEmpty)
    try sweep(desk)
    #expect(try desk.attachments().count == 1)
    try sweep(desk)
    #expect(try desk.attachments().count == 1)
    #expect(desk.files == [id], "it is still to be worked on")
  }

  /// Its bytes are all there, and were not compared with their checksum.
  @Test func oneWhoseBytesWereNotComparedIsNotTakenIn() throws {
    let desk = try desk()
    let id = try begin(desk, 3)
    let fields = [
      "upload-offset": "0", "content-type": Self.octets,
      "upload-checksum": "sha1 2jmj7l5rSw0yVb/vlWAYkK/YBwk=",
    ]
    #expect(try desk.ask("PATCH", "/v1/uploads/\(id)", "t", fields, [1, 2, 3], .killed(3)) == nil)
    try sweep(desk)
    #expect(try desk.attachments().isEmpty)
    #expect(try desk.ask("HEAD", "/v1/uploads/\(id)", "t")?.field("Upload-Offset") == "0")
    #expect(desk.files == [id])
  }

  @Test func aFileThatNobodyKnowsIsDeletedAfterAnHour() throws {
    let desk = try desk()
    let id = try begin(desk, 3)
    let stray = String(repeating: "0", count: 32)
    for name in [stray, stray + ".doubt", "notes.txt"] {
      try "x".write(toFile: "\(desk.home.uploadsPath)/\(name)", atomically: false, encoding: .utf8)
    }
    try sweep(desk)
    #expect(desk.files.count == 4)
    for name in desk.files {
      var times = [
        timeval(tv_sec: time(nil) - 3700, tv_usec: 0), timeval(tv_sec: time(nil) - 3700, tv_usec: 0),
      ]
      utimes("\(desk.home.uploadsPath)/\(name)", &times)
    }
    try sweep(desk)
    #expect(desk.files == [id, "notes.txt"].sorted(), "what is not ours is left alone")
  }

  /// The coordinator deletes it once the attachment has its object.
  @Test func aFileThatIsGoneWithItsAttachmentThereIsNotMissed() throws {
    let desk = try desk()
    let (open, whole) = (try begin(desk, 3), try begin(desk, 3, [1, 2, 3]))
    unlink("\(desk.home.uploadsPath)/\(whole)")
    let state = try desk.ask("HEAD", "/v1/uploads/\(whole)", "t")
    #expect(state?.field("Upload-Offset") == "3" && state?.field("Attachment-Id") != nil)
    let again = try desk.ask(
      "PATCH", "/v1/uploads/\(whole)", "t", ["upload-offset": "3", "content-type": Self.octets])
    #expect(again?.status == 204)
    #expect(desk.files == [open], "nothing of it comes back")
  }

  /// Its last byte comes, and its attachment ends, between the look at the upload and the command.
  @Test func oneThatHasJustBecomeAnAttachmentIsNotGivenUp() throws {
    let desk = try desk()
    let id = try begin(desk, 3)
    let request = FrontRequest(
      serial: 1, method: "DELETE", segments: ["v1", "uploads", id], query: [],
      fields: [.init("authorization", "Bearer t"), .init("tus-resumable", "1.0.0")], body: .none)
    guard case .upload(_, let step) = desk.api.answer(request),
      case .commands(let commands, let next) = try desk.api.take(step, id, request)
    else { return #expect(Bool(false), "it is to be given up") }
    let fields = ["upload-offset": "0", "content-type": Self.octets]
    let last = try desk.ask("PATCH", "/v1/uploads/\(id)", "t", fields, [1, 2, 3])
    let attachment = try #require(last?.field("Attachment-Id"))
    try desk.complete()
    guard case .reply(let late) = next(try desk.apply(commands)) else {
      return #expect(Bool(false), "it is answered")
    }
    for reply in [late, try #require(try desk.ask("DELETE", "/v1/uploads/\(id)", "t"))] {
      #expect(reply.status == 409 && reply.text.contains(#""code":"in-use""#), "\(reply.text)")
      #expect(reply.text.contains("/v1/attachments/\(attachment)"), "\(reply.text)")
    }
    #expect(try desk.ask("HEAD", "/v1/uploads/\(id)", "t")?.field("Attachment-Id") == attachment)
  }

  @Test func howLongOneMayBeFollowsFromWhatItCallsItself() throws {
    var rules = ServeRules()
    (rules.maxSize, rules.maxImageSize) = (100, 10)
    let desk = try UploadDesk(rules: rules)
    try desk.addToken("t", "ann")
    let cases: [(name: String?, type: String?, length: Int, status: Int)] = [
      ("a.pdf", nil, 100, 201), ("a.pdf", nil, 101, 413), ("a.PNG", nil, 11, 413), ("a.PNG", nil, 10, 201),
      (nil, "image/png", 11, 413), ("a.png", "application/pdf", 100, 201), (nil, nil, 100, 201),
    ]
    for (name, type, length, status) in cases {
      let pairs = [("filename", name), ("filetype", type)].compactMap { key, value in
        value.map { "\(key) \(Data($0.utf8).base64EncodedString())" }
      }
      let fields = ["upload-length": "\(length)", "upload-metadata": pairs.joined(separator: ",")]
      let reply = try desk.ask("POST", "/v1/uploads", "t", fields)
      #expect(reply?.status == status, "\(name ?? "-") \(type ?? "-") \(length): \(reply?.text ?? "")")
    }
    let most = try desk.ask("OPTIONS", "/v1/uploads", "t")
    #expect(most?.field("Tus-Max-Size") == "100")
  }

  /// Whoever made it was killed before its row was there, or after that had gone: no request of this coordinator is at it.
  @Test func aFileWithoutARowThatIsOlderThanTheCoordinatorGoesAtOnce() throws {
    let desk = try desk()
    let id = String(repeating: "7", count: 32)
    let folder = desk.api.uploads.path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let file = folder + "/" + id
    #expect(FileManager.default.createFile(atPath: file, contents: Data("left\n".utf8)))
    try sweep(desk, begun: 1000)
    #expect(FileManager.default.fileExists(atPath: file), "its row may be on the way")
    try sweep(desk, begun: Clock.now() + 10_000)
    #expect(!FileManager.default.fileExists(atPath: file))
  }
}
