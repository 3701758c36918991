import CPlatform
import Foundation
import Glibc
import Synchronization
import Testing

/// What clients of ClamAV's daemon are told where `sluice serve` stands in its place.
@Suite(.serialized)
struct ClamdDoorTests {
  private let folder: TemporaryFolder
  private let text = Array("Dear Ben, …\n".utf8)
  private let damaged: [UInt8]
  private let pdf: [UInt8]
  static let image = Array(Samples.whitePNG(width: 8, height: 8))

  init() throws {
    folder = try TemporaryFolder()
    pdf = Array(try Samples.data("report.pdf"))
    damaged = Array(pdf.prefix(pdf.count / 3))
  }

  @Test func eachCommandHasTheAnswerThatClientsKnow() throws {
    let door = try ClamdDoor(folder)
    for (prefix, end) in [("z", "\0"), ("n", "\n"), ("", "\n")] {
      func ask(_ words: String) throws -> String? { try door.ask(prefix + words + end) }
      #expect(try ask("PING") == "PONG" + end)
      let version = try #require(try ask("VERSION"))
      // ClamAV 1.2.3/1/Mon Jan 01 10:00:00 2026
      #expect(version.wholeMatch(of: /ClamAV [0-9.]+\/1\/\w{3} \w{3} \d\d \d\d:\d\d:\d\d \d{4}[\n\0]/) != nil)
      #expect(
        try ask("VERSIONCOMMANDS") == version.dropLast()
          + "| COMMANDS: PING VERSION VERSIONCOMMANDS STATS INSTREAM FILDES IDSESSION END" + end)
      let stats = try #require(try ask("STATS"))
      #expect(stats.hasPrefix("POOLS: 1\n\nSTATE: VALID PRIMARY\n") && stats.hasSuffix("END" + end))
      for command in ["SHUTDOWN", "RELOAD"] {
        #expect(try ask(command) == "COMMAND UNAVAILABLE" + end)
      }
      for command in ["FOO", "ping", "PING x", "STREAM", "END"] {
        #expect(try ask(command) == "UNKNOWN COMMAND" + end)
      }
    }
    // The last command needs no end.
    let client = try ClamdClient(door.path)
    client.send("PING")
    client.end()
    #expect(client.rest() == "PONG\n")
    #expect(door.served.stop() == 0)
  }

  /// A FIFO would be noticed: opening it for reading lets one go on that opens it for writing.
  @Test func noPathIsOpened() throws {
    let door = try ClamdDoor(folder)
    let fifo = folder.path + "/fifo"
    mkfifo(fifo, 0o666)
    for command in ["SCAN", "CONTSCAN", "MULTISCAN", "ALLMATCHSCAN"] {
      for path in [fifo, "/etc/passwd", "relative", ""] {
        let answer = try #require(try door.ask("z\(command) \(path)\0"))
        #expect(answer.hasSuffix("no path is opened here, send the content with INSTREAM. ERROR\0"))
        #expect(open(fifo, O_WRONLY | O_NONBLOCK) == -1 && errno == ENXIO)
      }
    }
    #expect(door.served.stop() == 0)
  }

  @Test func aContentIsJudgedHoweverItComes() throws {
    let door = try ClamdDoor(folder)
    for sizes in [[1], [1, 2, 3, 5, 7], [2048], [100_000], [4, 65_536]] {
      #expect(try door.verdict(text, by: sizes) == "stream: OK")
      #expect(try door.verdict(damaged, by: sizes) == "stream: Sluice.pdf.pdf-damaged FOUND")
    }
    #expect(try door.verdict(pdf) == "stream: OK")
    #expect(try door.verdict(Self.image) == "stream: Sluice.mime.type-not-allowed FOUND")
    // Half a length, and the rest later; and a client that sends no more before it has its answer.
    let client = try ClamdClient(door.path)
    for piece in [[UInt8]("nINSTREAM\n".utf8) + [0, 0], [0, 3, 97, 98], [99, 0, 0], [0, 0]] {
      client.send(piece)
      usleep(50_000)
    }
    client.end()
    #expect(client.rest() == "stream: OK\n")
    for _ in 0..<20 {
      let client = try ClamdClient(door.path)
      client.send(Array("zINSTREAM\0".utf8) + ClamdClient.chunks(pdf))
      client.end()
      #expect(client.rest() == "stream: OK\0")
    }
    // Nothing is left of any.
    #expect(folder.files(below: "home/uploads").isEmpty && folder.files(below: "home/store").isEmpty)
    #expect(door.served.stop() == 0)
  }

  /// A content that ends before its end is none.
  @Test func aContentThatBreaksOffIsNotJudged() throws {
    let door = try ClamdDoor(folder)
    let whole = Array("zINSTREAM\0".utf8) + ClamdClient.chunks(text)
    for count in 0..<whole.count {
      let client = try ClamdClient(door.path)
      client.send(whole.prefix(count))
      client.end()
      let answer = client.rest()
      #expect(
        answer?.contains("OK") != true && answer?.contains("FOUND") != true, "\(count): \(answer ?? "")")
    }
    #expect(try door.verdict(text) == "stream: OK")
    #expect(door.served.stop() == 0)
  }

  @Test func aSessionHasManyAnswersEachWithItsNumber() throws {
    let door = try ClamdDoor(folder)
    let client = try ClamdClient(door.path)
    client.send("zIDSESSION\0")
    var expected: [String: String] = [:]
    let sender = Thread { [damaged, text] in
      for number in 1...100 {
        switch number % 3 {
        case 0: client.send(Array("zINSTREAM\0".utf8) + ClamdClient.chunks(damaged, by: [number * 10]))
        case 1: client.send(Array("zINSTREAM\0".utf8) + ClamdClient.chunks(text + Array("\(number)\n".utf8)))
        default: client.send("zPING\0")
        }
      }
      client.send("zEND\0")
    }
    sender.start()
    for number in 1...100 {
      expected["\(number)"] =
        switch number % 3 {
        case 0: "stream: Sluice.pdf.pdf-damaged FOUND"
        case 1: "stream: OK"
        default: "PONG"
        }
    }
    let said = try #require(client.rest())
    var heard: [String: String] = [:]
    for answer in said.split(separator: "\0") {
      let parts = answer.split(separator: ":", maxSplits: 1)
      heard[String(parts[0])] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    #expect(heard == expected)
    #expect(door.served.stop() == 0)
  }

  @Test func aFileThatItsClientHasOpenIsJudgedIfItIsOne() throws {
    let door = try ClamdDoor(folder)
    func opened(_ path: String, _ flags: Int32 = O_RDONLY) -> Int32 { open(path, flags | O_CLOEXEC) }
    let isNone = "fd: the descriptor is none of a regular file. ERROR"
    let isOfKernel = "fd: the descriptor is that of a file of the kernel. ERROR"
    let isNotReadable = "fd: the descriptor is not open for reading. ERROR"
    let tooLong = "fd: size limit exceeded. ERROR"
    mkfifo(folder.path + "/fifo", 0o666)
    try folder.write("empty", "")
    let sparse = opened(folder.path + "/sparse", O_RDWR | O_CREAT)
    fchmod(sparse, 0o600)
    ftruncate(sparse, 10 << 40)
    let limit: off_t = 1 << 20
    let edge = opened(try folder.write("edge", Data(repeating: 0x61, count: Int(limit))))
    let over = opened(try folder.write("over", Data(repeating: 0x61, count: Int(limit) + 1)))
    for (descriptor, expected) in [
      (opened(try folder.write("a.txt", Data(text))), "fd: OK"),
      (opened(try folder.write("b.pdf", Data(damaged))), "fd: Sluice.pdf.pdf-damaged FOUND"),
      (opened(folder.path + "/empty"), "fd: OK"), (edge, "fd: OK"), (over, tooLong), (sparse, tooLong),
      (opened(folder.path), isNone), (opened(folder.path + "/fifo", O_RDWR), isNone),
      (opened("/dev/zero"), isNone), (opened("/dev/null"), isNone),
      (socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0), isNone),
      (opened("/dev/tty"), isNone), (opened("/dev/ptmx", O_RDWR), isNone),
      (opened(folder.path + "/a.txt", O_WRONLY), isNotReadable),
      (opened(folder.path + "/a.txt", 0o10_000_000 /* O_PATH */), isNotReadable),
      // To read the second one waits for ever where nothing is logged.
      (opened("/proc/self/mem"), isOfKernel), (opened("/proc/kmsg"), isOfKernel),
      (opened("/proc/self/environ"), isOfKernel),
      (opened("/sys/kernel/mm/transparent_hugepage/enabled"), isOfKernel),
    ] {
      // Not each machine has each.
      if descriptor < 0 { continue }
      let answer = try door.verdict(file: descriptor)
      if expected != "fd: OK" || descriptor == edge {
        #expect(answer == expected)
      } else {
        // What is empty the pipeline may take or not.
        #expect(answer == expected || answer?.hasSuffix(" FOUND") == true, "\(answer ?? "")")
      }
      // Nothing of it has moved: its client has it still.
      #expect(lseek(descriptor, 0, SEEK_CUR) <= 0)
      close(descriptor)
    }
    #expect(try door.verdict(text) == "stream: OK")
    #expect(door.served.stop() == 0)
  }

  /// The copy of such a file may be none of what it ever was.
  @Test func aFileThatChangesWhileItIsReadIsNotJudged() throws {
    let door = try ClamdDoor(folder)
    let content = [UInt8](repeating: 0x61, count: 1 << 20)
    let file = open(try folder.write("a.txt", Data(content)), O_RDWR)
    defer { close(file) }
    let (isOver, hasEnded) = (Flag(), Flag())
    let writer = Thread {
      while !isOver.isUp {
        content.withUnsafeBytes {
          for place in 0..<256 { _ = pwrite(file, $0.baseAddress, 4096, off_t(place * 4096)) }
        }
      }
      hasEnded.isUp = true
    }
    writer.start()
    try Resident.wait("it changes while it is read") {
      let answer = try door.verdict(file: file)
      let hasChanged = answer == "fd: the file changed while it was read. ERROR"
      // The writer may have paused while the door read the file.
      #expect(hasChanged || answer == "fd: OK")
      return hasChanged
    }
    isOver.isUp = true
    while !hasEnded.isUp { usleep(1000) }
    #expect(try door.verdict(file: file) == "fd: OK")
    #expect(door.served.stop() == 0)
  }

  /// Descriptors that no command asked for, several at once, or none at all.
  @Test func descriptorsAreTakenOneForEachCommand() throws {
    let door = try ClamdDoor(folder)
    let (clean, bad) = (
      open(try folder.write("a.txt", Data(text)), O_RDONLY),
      open(try folder.write("b.pdf", Data(damaged)), O_RDONLY)
    )
    defer { for descriptor in [clean, bad] { close(descriptor) } }
    let client = try ClamdClient(door.path)
    client.send("zIDSESSION\0")
    for number in 1...200 {
      client.send("zFILDES\0")
      client.pass(number % 2 == 0 ? bad : clean, clean, clean, clean)
      let answer = client.answer()?.replacing(/fd\[[0-9]+\]/, with: "fd")
      #expect(answer == "\(number): fd: " + (number % 2 == 0 ? "Sluice.pdf.pdf-damaged FOUND" : "OK"))
    }
    client.send("zFILDES\0\0")
    #expect(client.answer() == "201: No file descriptor received. ERROR")
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(door.keeper)/fd").count
    #expect(open < 60, "\(open) are open")
    #expect(door.served.stop() == 0)
  }

  @Test func whatIsTooLongIsToldWhileItComes() throws {
    let door = try ClamdDoor(folder)
    let long = [UInt8](repeating: UInt8(ascii: "a"), count: (1 << 20) + 1)
    #expect(try door.verdict(long, by: [65_536]) == "INSTREAM size limit exceeded. ERROR")
    #expect(try door.verdict(long.dropLast(), by: [65_536]) == "stream: OK")
    // A length says nothing of what comes.
    let client = try ClamdClient(door.path)
    client.send(Array("zINSTREAM\0".utf8) + [0xFF, 0xFF, 0xFF, 0xFF])
    while client.send(long) {}
    #expect(client.answer() != "stream: OK")
    // Several times as much as may come is read, so that a client that only then listens has its answer.
    let many = Array(repeating: long, count: 10).joined()
    #expect(try door.verdict(Array(many), by: [65_536]) == "INSTREAM size limit exceeded. ERROR")
    #expect(door.served.stop() == 0)
  }

  /// Without a scanner behind it, nothing is decided; its client is told as the door says.
  @Test(arguments: [
    ("error", "stream: Sluice.scan.scanner-unavailable: not decided. ERROR"),
    ("found", "stream: Sluice.scan.scanner-unavailable FOUND"),
  ])
  func aScannerThatIsDownIsNeverOK(unknown: String, expected: String) throws {
    let door = try ClamdDoor(
      folder,
      judging: """
        version: 1
        stages:
          - use: scan
            options: { address: "unix:\(folder.path)/nowhere.sock" }
        """, "unknown: \(unknown)")
    for content in [text, Array(Clamd.eicar.utf8), []] { #expect(try door.verdict(content) == expected) }
    #expect(door.served.stop() == 0)
  }

  @Test(.enabled(if: Clamd.isInstalled, .init(rawValue: Clamd.skipped)))
  func aScannerBehindItSaysWhatItFound() throws {
    let clamd = try Clamd()
    let door = try ClamdDoor(
      folder,
      judging: ClamdDoor.judging
        + "\n  - use: scan\n    id: av\n    options: { address: \"\(clamd.unix)\" }\n",
      "unknown: error")
    #expect(try door.verdict(text) == "stream: OK")
    #expect(try door.verdict(Array(Clamd.eicar.utf8)) == "stream: \(Clamd.signature) FOUND")
    #expect(try door.verdict(damaged) == "stream: Sluice.pdf.pdf-damaged FOUND")
    clamd.stop()
    let unknown = "stream: Sluice.av.scanner-unavailable: not decided. ERROR"
    #expect(try door.verdict(Array("another text\n".utf8)) == unknown)
    #expect(try door.verdict(Array(Clamd.eicar.utf8)) == unknown)
    try clamd.start()
    #expect(try door.verdict(Array(Clamd.eicar.utf8)) == "stream: \(Clamd.signature) FOUND")
    #expect(door.served.stop() == 0)
  }
}

/// Raised by one thread, and seen by another.
private final class Flag: Sendable {
  private let value = Mutex(false)

  var isUp: Bool {
    get { value.withLock { $0 } }
    set { value.withLock { $0 = newValue } }
  }
}
