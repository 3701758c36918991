import Foundation
import Glibc
import Testing

/// `sluice serve`: who has a token asks over HTTP.
@Suite(.serialized)
struct ServeTests {
  /// With its length, its name and its times kept: what the file system knows of it tells.
  @Test func anObjectThatWasChangedIsNotServed() throws {
    let folder = try TemporaryFolder()
    let served = try ServedHome(folder)
    let ann = try served.token("ann")
    struct Created: Decodable { var id: String }
    let id = try served.ask(
      "POST", "/v1/attachments?filename=a.txt", token: ann, body: Data("what was stored\n".utf8)
    ).decoded(Created.self).id
    let content = "/v1/attachments/\(id)/content"
    try Resident.wait("there is a content") { try served.ask("HEAD", content, token: ann).status == 200 }
    // As long as a publication may take.
    sleep(3)
    let name = try #require(folder.files(below: "home/store").first { !$0.hasPrefix(".") })
    let path = folder.path + "/home/store/" + name
    var facts = stat()
    #expect(stat(path, &facts) == 0)
    func write(_ text: String) {
      chmod(path, 0o600)
      let file = open(path, O_WRONLY)
      #expect(pwrite(file, text, text.utf8.count, 0) == text.utf8.count)
      let times = [facts.st_atim, facts.st_mtim]
      #expect(futimens(file, times) == 0)
      close(file)
    }
    write("what was forged\n")
    for fields in [[], ["Range: bytes=0-3"]] {
      let forged = try served.ask("GET", content, token: ann, fields)
      #expect(forged.status == 500 && forged.text.contains("damaged"), "\(forged.status) \(forged.text)")
    }
    // Touched, and the same.
    write("what was stored\n")
    for _ in 0..<2 {
      #expect(try served.ask("GET", content, token: ann).text == "what was stored\n")
      sleep(3)
    }
    write("what was forged\n")
    #expect(try served.ask("GET", content, token: ann).status == 500)
    #expect(served.stop() == 0)
  }

  /// The folder is named, and what to do.
  @Test func aSocketWhoseFolderIsMissingIsTold() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    let place = folder.path + "/nowhere"
    let outcome = try SluiceCommand.run(
      ["serve", "--home", "home", "--listen", "unix:\(place)/http.sock"], in: folder)
    #expect(outcome.status != 0)
    #expect(outcome.err.contains("in the folder \(place)"), "\(outcome.err)")
    #expect(outcome.err.contains("make the folder, or give another address"), "\(outcome.err)")
  }

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private struct List: Decodable {
    struct Attachment: Decodable {
      var id: String
      var fileName: String
      var status: String
      var sizeBytes: Int64?
    }
    var attachments: [Attachment]
    var next: String?
  }

  private struct Link: Decodable { var url: String }

  /// Takes files in, of ann, in which ben takes part.
  private func takeIn(_ count: Int, home: String = "home") throws {
    try folder.write("ingest.yaml", Pipelines.open)
    for number in 0..<count { try folder.write("in/\(number).txt", "text number \(number)\n") }
    let taken = try SluiceCommand.run(
      [
        "ingest", "--home", home, "--config", "ingest.yaml", "--sender", "ann", "--participants", "ann,ben",
        "in",
      ], in: folder)
    #expect(taken.status == 0, "\(taken.err)")
  }

  @Test func inAnEmptyFolderItServesAtOnceWithATokenOfItsOwn() throws {
    let served = try ServedHome(folder)
    let token = try #require(served.errors.firstMatch(of: /Bearer (sluice_[0-9a-f]{64})'/)?.1)
    let answer = try served.ask("GET", "/v1/attachments", token: String(token))
    #expect(answer.status == 200 && answer.text == "{\"attachments\":[],\"next\":null}\n")
    #expect(try served.ask("GET", "/livez").text == "ok\n")
    #expect(try served.ask("GET", "/readyz").text == "{\"ready\":true,\"paused\":[]}\n")
    #expect(try served.ask("GET", "/v1/attachments").status == 401)
    #expect(served.stop() == 0)
    // It is shown once.
    let again = try ServedHome(folder)
    #expect(!again.errors.contains("Bearer"))
    #expect(try again.ask("GET", "/v1/attachments", token: String(token)).status == 200)
  }

  @Test func eachSeesWhatIsTheirs() throws {
    try takeIn(5)
    let served = try ServedHome(folder, options: ["--config", "ingest.yaml"])
    let (ann, ben, eve) = (try served.token("ann"), try served.token("ben"), try served.token("eve"))
    for token in [ann, ben] {
      var (ids, next): (Set<String>, String?) = ([], nil)
      repeat {
        let page = try served.ask(
          "GET", "/v1/attachments?limit=2" + (next.map { "&after=\($0)" } ?? ""), token: token
        ).decoded(List.self)
        #expect(page.attachments.count <= 2)
        ids.formUnion(page.attachments.map(\.id))
        next = page.next
      } while next != nil
      #expect(ids.count == 5)
    }
    #expect(try served.ask("GET", "/v1/attachments", token: eve).decoded(List.self).attachments.isEmpty)
    let some = try served.ask("GET", "/v1/attachments?name=3.txt", token: ben).decoded(List.self)
    let one = try #require(some.attachments.first)
    #expect(some.attachments.count == 1 && one.fileName == "3.txt" && one.status == "completed")
    #expect(try served.ask("GET", "/v1/attachments/\(one.id)", token: eve).status == 404)

    let content = try served.ask("GET", "/v1/attachments/\(one.id)/content", token: ben)
    #expect(content.status == 200 && content.text == "text number 3\n")
    #expect(content.fields["content-disposition"] == "inline; filename=\"3.txt\"")
    #expect(content.fields["content-type"] == "text/plain; charset=utf-8")
    let tag = try #require(content.fields["etag"])
    let part = try served.ask(
      "GET", "/v1/attachments/\(one.id)/content", token: ann, ["Range: bytes=5-10", "If-Range: \(tag)"])
    #expect(part.status == 206 && part.text == "number" && part.fields["content-range"] == "bytes 5-10/14")
    let same = try served.ask(
      "GET", "/v1/attachments/\(one.id)/content", token: ann, ["If-None-Match: \(tag)"])
    #expect(same.status == 304 && same.body.isEmpty)
    let head = try served.ask("HEAD", "/v1/attachments/\(one.id)/content", token: ann)
    #expect(head.status == 200 && head.body.isEmpty && head.fields["content-length"] == "14")
    #expect(try served.ask("GET", "/v1/attachments/\(one.id)/content", token: eve).status == 404)
    #expect(served.stop() == 0)
  }

  /// Only a socket that is left over makes room for a new one.
  @Test func whatLiesWhereASocketIsToBeStays() throws {
    for name in ["file", "link", "pipe"] {
      try folder.write("precious", "precious\n")
      switch name {
      case "file": try folder.write("place-file", "precious\n")
      case "link": symlink(folder.path + "/precious", folder.path + "/place-link")
      default: mkfifo(folder.path + "/place-pipe", 0o600)
      }
      let refused = try SluiceCommand.run(
        ["serve", "--home", "home", "--listen", "unix:\(folder.path)/place-\(name)"], in: folder)
      #expect(
        refused.status == 78 && refused.err.contains("take away what is in its place"), "\(refused.err)")
    }
    #expect(try folder.read("place-file") == "precious\n" && folder.read("precious") == "precious\n")
    var facts = stat()
    #expect(lstat(folder.path + "/place-link", &facts) == 0 && facts.st_mode & S_IFMT == S_IFLNK)
    // An address that is taken is no fault of the program's.
    let served = try ServedHome(folder)
    let taken = try SluiceCommand.run(
      ["serve", "--home", "other", "--listen", "127.0.0.1:\(served.port)"], in: folder)
    #expect(taken.status == 78 && taken.err.contains("give another address"), "\(taken.err)")
    #expect(served.stop() == 0)
  }

  /// Its folder says who may reach it. One that a killed process left is replaced, and one that is listened on is not.
  @Test func aUnixSocketIsOpenToAllAndIsReplacedWhereNobodyListens() throws {
    let place = folder.path + "/http.sock"
    func ask() throws -> SluiceCommand.Outcome {
      try SluiceCommand.run(
        ["-sS", "--unix-socket", place, "http://localhost/livez"], in: folder, program: "/usr/bin/curl")
    }
    for signal in [SIGKILL, SIGTERM] {
      let served = try ServedHome(folder, options: ["--listen", "unix:\(place)"])
      var facts = stat()
      #expect(
        lstat(place, &facts) == 0 && facts.st_mode == S_IFSOCK | 0o666, "\(String(facts.st_mode, radix: 8))")
      let other = try SluiceCommand.run(
        ["serve", "--home", "other", "--listen", "unix:\(place)"], in: folder)
      #expect(other.status == 78 && other.err.contains("give another address"), "\(other.err)")
      let answer = try ask()
      #expect(answer.out == "ok\n", "\(answer.err)")
      _ = served.stop(signal)
    }
  }

  /// A process that clients have grow ends before the machine has no memory left.
  @Test func theMemoryOfWhatSpeaksWithTheWorldIsBounded() throws {
    try folder.write("serve.yaml", Pipelines.open + "\nserve: { connections: 2000 }\n")
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    try Resident.wait("it serves") { (try? served.ask("GET", "/livez"))?.status == 200 }
    let limits = try String(contentsOfFile: "/proc/\(served.server)/limits", encoding: .utf8)
    let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max address space") })
    let bytes = String(1 << 30 + 2000 * 64 << 10)
    #expect(line.split(separator: " ").dropFirst(3).prefix(2) == [bytes[...], bytes[...]], "\(line)")
    #expect(served.stop() == 0)
  }

  /// A link may be kept, and a list is read again: what the parameter is to be must not be left to chance.
  @Test func aParameterThatIsThereTwiceIsRefused() throws {
    let served = try ServedHome(folder)
    let admin = try served.token("root", "--role", "admin")
    for path in [
      "attachments?limit=1&limit=2", "attachments?status=failed&status=failed", "deliveries?limit=1&limit=1",
      "transfers?state=held&limit=1&state=held", "report?since=1h&since=2h",
    ] {
      let answer = try served.ask("GET", "/v1/" + path, token: admin)
      #expect(
        answer.status == 400 && answer.text.contains("\"invalid-parameter\""), "\(path): \(answer.text)")
    }
    let posted = try served.ask(
      "POST", "/v1/attachments?filename=a&filename=b", token: admin, body: Data("x".utf8))
    #expect(posted.status == 400 && posted.text.contains("\"invalid-parameter\""), "\(posted.text)")
    #expect(served.stop() == 0)
  }

  /// What was completed is there as long as nothing else is decided.
  @Test func contentThatIsWorkedOnAgainIsServedMeanwhile() throws {
    try takeIn(1)
    let served = try ServedHome(folder, options: ["--config", "ingest.yaml"])
    let ann = try served.token("ann")
    let id = try #require(
      try served.ask("GET", "/v1/attachments", token: ann).decoded(List.self).attachments.first?.id)
    func sluice(_ words: String...) throws {
      let outcome = try SluiceCommand.run(words + ["--home", "home"], in: folder)
      #expect(outcome.status == 0, "\(outcome.out)\(outcome.err)")
    }
    func content() throws -> (Int, String) {
      let answer = try served.ask("GET", "/v1/attachments/\(id)/content", token: ann)
      return (answer.status, answer.text)
    }
    try sluice("pause", "attachments")
    // By the pipeline of the server, which then gets its old one back.
    let pipeline = try folder.read("ingest.yaml")
    try folder.write("ingest.yaml", pipeline.replacingOccurrences(of: "max: 100MB", with: "max: 3B"))
    try served.reload()
    try sluice("replay", id, "--apply", "-c", "ingest.yaml")
    try folder.write("ingest.yaml", pipeline)
    try served.reload()
    let story = try served.ask("GET", "/v1/attachments/\(id)", token: ann).text
    #expect(story.contains("\"status\":\"queued\""), "\(story)")
    #expect(try content() == (200, "text number 0\n"))
    let part = try served.ask("GET", "/v1/attachments/\(id)/content", token: ann, ["Range: bytes=5-10"])
    #expect(part.status == 206 && part.text == "number")
    try sluice("resume", "attachments")
    try Resident.wait("it is completed again") {
      try served.ask("GET", "/v1/attachments/\(id)", token: ann).text.contains("\"status\":\"completed\"")
    }
    #expect(try content() == (200, "text number 0\n"))
    #expect(served.stop() == 0)
  }

  /// It is completed a moment before its object has its path, or long before where the disk refuses.
  @Test func contentThatWaitsForItsPathIsServed() throws {
    try takeIn(1)
    let served = try ServedHome(folder, options: ["--config", "ingest.yaml"])
    let ann = try served.token("ann")
    let id = try #require(
      try served.ask("GET", "/v1/attachments", token: ann).decoded(List.self).attachments.first?.id)
    let store = folder.path + "/home/store/"
    let object = try #require(folder.files(below: "home/store").first { !$0.hasPrefix(".incoming") })
    try FileManager.default.moveItem(atPath: store + object, toPath: "\(store).incoming/7.9.\(id)")
    let answer = try served.ask("GET", "/v1/attachments/\(id)/content", token: ann)
    #expect(answer.status == 200 && answer.text == "text number 0\n", "\(answer.text)")
    try FileManager.default.removeItem(atPath: "\(store).incoming/7.9.\(id)")
    #expect(try served.ask("GET", "/v1/attachments/\(id)/content", token: ann).status == 500)
    #expect(served.stop() == 0)
  }

  /// For what cannot send a header.
  @Test func aLinkOpensTheContentForAWhile() throws {
    try takeIn(1)
    let served = try ServedHome(folder, options: ["--config", "ingest.yaml"])
    let (ann, eve) = (try served.token("ann"), try served.token("eve"))
    let id = try #require(
      try served.ask("GET", "/v1/attachments", token: ann).decoded(List.self).attachments.first?.id)
    func linked(_ query: String = "") throws -> String {
      let answer = try served.ask("GET", "/v1/attachments/\(id)/link" + query, token: ann)
      return try answer.decoded(Link.self).url
    }
    let plain = try linked()
    #expect(try served.ask("GET", plain).text == "text number 0\n")
    let saved = try served.ask("GET", try linked("?download=1"))
    #expect(saved.fields["content-disposition"]?.hasPrefix("attachment") == true)
    #expect(try served.ask("GET", "/v1/attachments/\(id)/link", token: eve).status == 404)
    #expect(try served.ask("GET", "/v1/attachments/\(id)/link?seconds=604801", token: ann).status == 400)
    // Changed in any way, it opens nothing.
    let digits = Array(plain)
    let query = try #require(digits.firstIndex(of: "?"))
    for place in stride(from: query + 1, to: digits.count, by: 7) {
      var changed = digits
      changed[place] = changed[place] == "1" ? "2" : "1"
      #expect(try served.ask("GET", String(changed)).status == 401, "\(String(changed))")
    }
    #expect(try served.ask("GET", plain + "&download=1").status == 401)
    let short = try linked("?seconds=1")
    usleep(2_100_000)
    #expect(try served.ask("GET", short).status == 401)
    let listed = try SluiceCommand.run(["tokens", "list", "--home", "home"], in: folder).out
    let line = try #require(listed.split(separator: "\n").first { $0.contains("  ann  ") })
    _ = try SluiceCommand.run(["tokens", "revoke", String(line.prefix(12)), "--home", "home"], in: folder)
    #expect(try served.ask("GET", plain).status == 401)
    #expect(served.stop() == 0)
  }

  /// Browsers find the content in their caches, also after a restart of the server.
  @Test func aLinkStaysTheSameForHalfOfItsTime() throws {
    try takeIn(2)
    var served = try ServedHome(folder, options: ["--config", "ingest.yaml"])
    let (ann, eve) = (try served.token("ann"), try served.token("eve"))
    let ids = try served.ask("GET", "/v1/attachments", token: ann).decoded(List.self).attachments.map(\.id)
    func links(_ body: String, _ token: String) throws -> (status: Int, urls: [String?]) {
      let answer = try served.ask(
        "POST", "/v1/links", token: token, ["Content-Type: application/json"], body: Data(body.utf8))
      return (answer.status, try JSON(answer.text)["links"].elements.map { $0["url"].text })
    }
    let wish = #"{"attachments":["\#(ids[0])","\#(ids[1])","none"],"seconds":604800}"#
    let first = try links(wish, ann)
    #expect(first.status == 200 && first.urls.count == 3 && first.urls[2] == nil)
    // In another second.
    usleep(1_100_000)
    #expect(try links(wish, ann).urls == first.urls)
    #expect(try links(wish, eve).urls == [nil, nil, nil])
    let url = try #require(first.urls[0])
    let content = try served.ask("GET", url)
    #expect(content.status == 200 && content.fields["cache-control"] == "private, max-age=3600")
    let tag = try #require(content.fields["etag"])
    let again = try served.ask("GET", url, ["If-None-Match: \(tag)"])
    #expect(again.status == 304 && again.fields["cache-control"] == "private, max-age=3600")
    // A token in the request decides, and what the link says does not count.
    let own = try served.ask("GET", url, token: ann)
    #expect(own.status == 200 && own.fields["cache-control"] == "private, no-cache")
    let short = try served.ask("GET", "/v1/attachments/\(ids[0])/link", token: ann).decoded(Link.self).url
    let end = try #require(short.split(separator: "expires=").last?.prefix { $0.isNumber })
    let left = try #require(Double(end)) - Date().timeIntervalSince1970
    #expect((290...600).contains(left), "\(left)")
    for body in [
      #"{"attachments":["x"],"seconds":604801}"#, #"{"attachments":["x"],"seconds":0}"#, #"{}"#,
      #"{"attachments":[\#((0...200).map { "\"\($0)\"" }.joined(separator: ","))]}"#,
    ] {
      #expect(try links(body, ann).status == 400, "\(body)")
    }
    #expect(served.stop() == 0)
    served = try ServedHome(folder, options: ["--config", "ingest.yaml"])
    #expect(try served.ask("GET", url).status == 200 && links(wish, ann).urls == first.urls)
    #expect(served.stop() == 0)
  }

  @Test func aSenderDeletesAndAParticipantDoesNot() throws {
    try takeIn(1)
    let served = try ServedHome(folder, options: ["--config", "ingest.yaml"])
    let (ann, ben) = (try served.token("ann"), try served.token("ben"))
    let id = try #require(
      try served.ask("GET", "/v1/attachments", token: ann).decoded(List.self).attachments.first?.id)
    #expect(
      try served.ask("POST", "/v1/attachments/\(id)/retry", token: ann).status == 409, "it is completed")
    #expect(try served.ask("DELETE", "/v1/attachments/\(id)", token: ben).status == 403)
    #expect(try served.ask("GET", "/v1/attachments/\(id)", token: ben).status == 200)
    let deleted = try served.ask("DELETE", "/v1/attachments/\(id)", token: ann)
    #expect(deleted.status == 200 && deleted.text == "{\"changed\":true}\n", "\(deleted.text)")
    #expect(try served.ask("GET", "/v1/attachments/\(id)", token: ann).status == 404)
    #expect(served.stop() == 0)
    #expect(folder.files(below: "home/store").filter { $0.hasSuffix(".txt") }.isEmpty)
  }

  @Test func aRevokedTokenOpensNothing() throws {
    let served = try ServedHome(folder)
    let token = try served.token("ann", "--expires", "1h")
    #expect(try served.ask("GET", "/v1/attachments", token: token).status == 200)
    let listed = try SluiceCommand.run(["tokens", "list", "--home", "home"], in: folder).out
    let line = try #require(listed.split(separator: "\n").first { $0.contains("  ann  ") })
    #expect(line.contains("valid    user  ann") && !listed.contains(token.dropFirst(7)))
    let id = String(line.prefix(12))
    #expect(
      try SluiceCommand.run(["tokens", "revoke", id, "--home", "home"], in: folder).out == "\(id)  revoked\n")
    #expect(try served.ask("GET", "/v1/attachments", token: token).status == 401)
  }

  /// What speaks HTTP is killed: nothing is lost but its connections, and it is started again.
  @Test func theServerIsStartedAgain() throws {
    let served = try ServedHome(folder)
    let token = try served.token("ann")
    for _ in 0..<3 {
      let server = served.server
      try #require(server > 0)
      kill(server, SIGKILL)
      try Resident.wait("another takes its place") { served.server != server && served.server > 0 }
      #expect(try served.ask("GET", "/v1/attachments", token: token).status == 200)
    }
    #expect(served.errors.contains("the HTTP server ended"))
    #expect(served.stop() == 0)
    #expect(served.server == 0)
  }
}
