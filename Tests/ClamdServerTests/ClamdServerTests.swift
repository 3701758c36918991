import ClamdServer
import Glibc
import Platform
import Testing

/// The server with real connections, and a handler that judges nothing.
@Suite(.serialized)
struct ClamdServerTests {
  private static let text = Array("some text".utf8)

  private static func inStream(_ bytes: [UInt8], by size: Int = 100, _ prefix: String = "z") -> [UInt8] {
    Array("\(prefix)INSTREAM\(prefix == "z" ? "\0" : "\n")".utf8) + DoorClient.chunks(bytes, by: size)
  }

  @Test(arguments: [RunningDoor.Manner.judges, .pauses])
  func aClientThatSendsNoMoreHasItsAnswer(manner: RunningDoor.Manner) throws {
    let door = try RunningDoor(manner)
    for isLocal in [true, false] {
      for length in [0, 1, 100, 100_000] {
        let client = try door.connect(isLocal: isLocal)
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0) | 0x80 }
        client.send(Self.inStream(bytes, by: 5000))
        client.end()
        #expect(client.rest() == "stream: \(DoorClient.answer(bytes))\0")
      }
    }
  }

  /// Sessions at random, in pieces at random: each command has its answer, under its number.
  @Test(arguments: [RunningDoor.Manner.judges, .pauses])
  func sessionsAtRandom(manner: RunningDoor.Manner) throws {
    let door = try RunningDoor(manner)
    var random = SplitMix(state: 7)
    for round in 0..<100 {
      var (bytes, expected) = (Array("nIDSESSION\n".utf8), Set<String>())
      for number in 1...Int.random(in: 1...30, using: &random) {
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
          bytes += Array("nPING\n".utf8)
          expected.insert("\(number): PONG")
        case 1:
          bytes += Array("nSCAN /etc/passwd\n".utf8)
          expected.insert(
            "\(number): /etc/passwd: no path is opened here, send the content with INSTREAM. ERROR")
        default:
          let content = (0..<Int.random(in: 0...3000, using: &random)).map { _ in
            UInt8.random(in: 0...255, using: &random)
          }
          bytes += Self.inStream(content, by: Int.random(in: 1...1000, using: &random), "n")
          expected.insert("\(number): stream: \(DoorClient.answer(content))")
        }
      }
      bytes += Array("nEND\n".utf8)
      let client = try door.connect(isLocal: round % 2 == 0)
      var start = 0
      while start < bytes.count {
        let end = min(start + Int.random(in: 1...4000, using: &random), bytes.count)
        client.send(Array(bytes[start..<end]))
        start = end
      }
      let heard = try #require(client.rest()).split(separator: "\n").map(String.init)
      #expect(Set(heard) == expected && heard.count == expected.count)
    }
    door.waitFor { $0.connections == 0 && $0.dropped == 0 }
  }

  /// What is broken at random ends its connection, or has answers; the server goes on.
  @Test func garbageAtRandom() throws {
    let door = try RunningDoor(limit: 5000)
    var random = SplitMix(state: 3)
    let words = ["INSTREAM", "FILDES", "IDSESSION", "END", "PING", "SCAN /x", "STATS", "VERSION", "QUUX"]
    for round in 0..<300 {
      let client = try door.connect(isLocal: round % 2 == 0)
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 1...20, using: &random) {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes += (0..<4).map { _ in UInt8.random(in: 0...255, using: &random) }
        case 1: bytes += DoorClient.chunks(Self.text, by: Int.random(in: 1...9, using: &random))
        default:
          let prefix = ["z", "n", ""].randomElement(using: &random) ?? ""
          bytes += Array(
            (prefix + (words.randomElement(using: &random) ?? "") + (prefix == "z" ? "\0" : "\n")).utf8)
        }
      }
      client.send(bytes)
      client.end()
      #expect(client.rest() != nil, "it hangs: \(bytes)")
    }
    let client = try door.connect()
    client.send(Self.inStream(Self.text))
    #expect(client.rest() == "stream: \(DoorClient.answer(Self.text))\0")
    door.waitFor { $0.connections == 0 && $0.begun >= $0.ended }
  }

  // MARK: Deadlines

  private static func limits(_ change: (inout ClamdServer.Limits) -> Void) -> ClamdServer.Limits {
    var limits = ClamdServer.Limits()
    change(&limits)
    return limits
  }

  /// Runs a body, and says how many seconds it took.
  private func seconds(_ body: () throws -> Void) rethrows -> Double {
    let began = Clock.monotonic()
    try body()
    return Double(Clock.monotonic() - began) / 1e9
  }

  /// One byte now and then is no sign of life: what counts is the whole.
  @Test func aSlowCommandAndASlowContentAreCutOff() throws {
    let limits = Self.limits { limits in
      limits.commandTime = 1000
      limits.contentTime = 1000
      limits.lingerTime = 500
    }
    let door = try RunningDoor(limits: limits)
    func drip(_ start: [UInt8], _ drop: [UInt8]) throws -> String? {
      let client = try door.connect()
      client.send(start)
      let took = seconds {
        for _ in 0..<1200 {
          if !client.send(drop) { break }
          usleep(50_000)
        }
      }
      #expect(took > 0.8 && took < 45, "\(took) s")
      return client.rest()
    }
    #expect(try drip([], [UInt8(ascii: "P")]) == "")
    #expect(
      try drip(Array("zINSTREAM\0".utf8), [0, 0, 0, 1, 97])
        == "INSTREAM: the content took longer than 1 s. ERROR\0")
    door.waitFor { $0.connections == 0 && $0.begun == 1 && $0.dropped == 1 && $0.ended == 0 }
  }

  /// It keeps its place for as long as no other waits for it; one that sends as it should keeps it in any case.
  @Test func oneThatSendsNothingGivesItsPlaceToAnother() throws {
    let door = try RunningDoor(
      .takesOne,
      limits: Self.limits { limits in
        limits.paceTime = 1000
        limits.paceBytes = 1000
        limits.lingerTime = 200
      })
    let silent = try door.connect()
    silent.send("zINSTREAM\0")
    door.waitFor { $0.begun == 1 }
    usleep(2_500_000)
    door.waitFor { $0.dropped == 0 }
    let other = try door.connect()
    other.send(Self.inStream(Self.text))
    let took = seconds { #expect(other.rest() == "stream: \(DoorClient.answer(Self.text))\0") }
    #expect(took < 40, "\(took) s")
    #expect(silent.rest() == "INSTREAM: the content came too slowly while others waited. ERROR\0")

    let steady = try door.connect()
    steady.send("zINSTREAM\0")
    door.waitFor { $0.begun == 3 }
    let waiting = try door.connect()
    waiting.send(Self.inStream(Self.text))
    door.waitFor { $0.begun == 4 }
    let piece = [UInt8](repeating: 7, count: 4000)
    for _ in 0..<30 {
      steady.send([0, 0, 0x0F, 0xA0] + piece)
      usleep(100_000)
    }
    steady.send([0, 0, 0, 0])
    let whole = Array(repeating: piece, count: 30).flatMap(\.self)
    #expect(steady.rest() == "stream: \(DoorClient.answer(whole))\0")
    #expect(waiting.rest() == "stream: \(DoorClient.answer(Self.text))\0")
  }

  /// Its place is for others, who would wait for as long as a content may take: what was enough at first is little later on.
  @Test func oneThatGoesOnSlowlyGivesItsPlaceToAnother() throws {
    let door = try RunningDoor(
      .takesOne,
      limits: Self.limits { limits in
        (limits.paceTime, limits.paceBytes, limits.contentTime) = (500, 1000, 20_000)
      })
    let slow = try door.connect()
    slow.send("zINSTREAM\0")
    door.waitFor { $0.begun == 1 }
    let other = try door.connect()
    other.send(Self.inStream(Self.text))
    let piece = [0, 0, 1, 0xF4] + [UInt8](repeating: 7, count: 500)
    let took = seconds {
      for _ in 0..<100 where slow.send(piece) { usleep(100_000) }
    }
    #expect((0.5..<80).contains(took), "\(took) s")
    #expect(other.rest() == "stream: \(DoorClient.answer(Self.text))\0")
  }

  @Test func oneThatIsNeverAnsweredIsToldSo() throws {
    let limits = Self.limits { limits in
      limits.jobTime = 1000
      limits.lingerTime = 200
    }
    let door = try RunningDoor(.answersNever, limits: limits)
    let client = try door.connect()
    client.send(Self.inStream(Self.text))
    #expect(client.rest() == "not decided in 1 s. ERROR\0")
    door.waitFor { $0.connections == 0 && $0.dropped == 1 }
  }

  @Test func oneThatReadsNothingIsCutOffAndWhatItIsToldIsBounded() throws {
    let door = try RunningDoor(limits: Self.limits { $0.writeTime = 1000 })
    let client = try door.connect()
    client.send("zIDSESSION\0")
    let many = Array(String(repeating: "zPING\0", count: 10_000).utf8)
    var rounds = 0
    let took = seconds { while client.send(many) && rounds < 1000 { rounds += 1 } }
    // As much as the kernel keeps for the server, which reads no more.
    #expect(took < 50 && rounds <= 12, "\(took) s, \(rounds)")
    door.waitFor { $0.connections == 0 }
  }

  /// It sends on after it was refused, for long.
  @Test func oneThatSendsOnAfterItsAnswerIsCutOff() throws {
    let limits = Self.limits { limits in
      limits.lingerTime = 1000
      limits.lingerBytes = 1 << 20
    }
    let door = try RunningDoor(limit: 10, limits: limits)
    let quick = try door.connect()
    quick.send(Array("zINSTREAM\0".utf8) + [0x7F, 0, 0, 0])
    var sent = 0
    let piece = [UInt8](repeating: 1, count: 65_536)
    while quick.send(piece) && sent < 1 << 30 { sent += piece.count }
    #expect(sent < 4 << 20, "\(sent)")
    let slow = try door.connect()
    slow.send(Array("zINSTREAM\0".utf8) + [0x7F, 0, 0, 0] + piece)
    let took = seconds { while slow.send([1]) { usleep(20_000) } }
    #expect(took < 40, "\(took) s")
    #expect(slow.rest() == "INSTREAM size limit exceeded. ERROR\0")
    door.waitFor { $0.connections == 0 }
  }

  // MARK: Limits

  @Test func connectionsBeyondTheLimitWait() throws {
    let door = try RunningDoor(limits: Self.limits { $0.connections = 3 })
    let clients = try (0..<5).map { _ in try door.connect() }
    for client in clients { client.send("zPING\0") }
    for client in clients { #expect(client.rest() == "PONG\0") }
  }

  /// Over loopback they are one peer, which has more than half; over the Unix socket another.
  @Test func onePeerThatHasMostOfThemAndDoesNothingLetsOthersIn() throws {
    var limits = ClamdServer.Limits()
    (limits.connections, limits.quietTime) = (8, 1_500)
    let door = try RunningDoor(limits: limits)
    let held = try (0..<8).map { _ in try door.connect(isLocal: false) }
    for client in held { client.send("zIDSESSION\0zPING\0") }
    door.waitFor { $0.connections == 8 }
    // One of them has a content all the time.
    let (busy, pieces) = (held[0], DoorClient.chunks(Self.text, by: 3))
    busy.send(Array("zINSTREAM\0".utf8) + pieces[..<7])
    let other = try door.connect(isLocal: true)
    other.send("zPING\0")
    #expect(other.rest() == "PONG\0")
    busy.send(Array(pieces[7...]) + Array("zEND\0".utf8))
    #expect(busy.rest() == "1: PONG\02: stream: \(DoorClient.answer(Self.text))\0")
  }

  /// The rest waits in the kernel until some have their answers.
  @Test func contentsOfOneConnectionAreBounded() throws {
    let door = try RunningDoor(.takesNone, limits: Self.limits { $0.files = 2 })
    let client = try door.connect()
    client.send("zIDSESSION\0")
    for _ in 0..<10 {
      client.send("zFILDES\0")
      client.pass(0)
    }
    door.waitFor { $0.begun == 2 }
    let other = try door.connect()
    other.send(Array("zIDSESSION\0".utf8) + Self.inStream(Self.text) + Self.inStream(Self.text))
    door.waitFor { $0.begun == 3 }
    client.close()
    other.close()
    door.waitFor { $0.connections == 0 && $0.dropped == 3 && $0.begun == 3 }
  }

  /// A read may bring the command, the byte and the next command at once.
  @Test func eachCommandHasItsOwnDescriptor() throws {
    let door = try RunningDoor()
    var ends: [(read: Int32, write: Int32)] = []
    for number in 0..<20 {
      let file = sluice_unnamed(number % 2 == 0 ? "bad!" : "good")
      ends.append((file, -1))
    }
    defer { for end in ends { close(end.read) } }
    let client = try door.connect()
    client.send("zIDSESSION\0")
    for end in ends {
      client.send("zFILDES\0")
      // One that stands for nothing comes along with it.
      client.pass(end.read, ends[0].read)
    }
    client.send("zEND\0")
    let heard = try #require(client.rest()).split(separator: "\0").map(String.init)
    #expect(heard.count == 20)
    for (number, answer) in heard.enumerated() {
      #expect(answer.hasPrefix("\(number + 1): fd["))
      #expect(answer.hasSuffix(number % 2 == 0 ? "Bad FOUND" : "OK"), "\(answer)")
    }
  }

  @Test func aStrayDescriptorIsNotTakenForTheNext() throws {
    let door = try RunningDoor()
    let (stray, meant) = (sluice_unnamed("good"), sluice_unnamed("bad!"))
    defer { for file in [stray, meant] { close(file) } }
    let client = try door.connect()
    client.pass(stray, bytes: Array("zIDSESSION\0".utf8))
    client.send("zFILDES\0")
    client.pass(meant)
    client.send("zEND\0")
    #expect(client.rest()?.hasSuffix("Bad FOUND\0") == true)
  }

  /// A client that leaves out the byte would have each verdict for the descriptor after.
  @Test func aDescriptorIsNotTakenForThatOfTheCommandBefore() throws {
    let door = try RunningDoor()
    let (first, second) = (sluice_unnamed("bad!"), sluice_unnamed("good"))
    defer { for file in [first, second] { close(file) } }
    let client = try door.connect()
    client.send("zIDSESSION\0")
    client.pass(first, bytes: Array("zFILDES\0".utf8))
    client.pass(second, bytes: Array("zFILDES\0".utf8))
    let heard = client.rest()
    #expect(heard?.contains("ERROR") == true && heard?.contains("OK") == false, "\(heard ?? "")")
  }

  @Test func overTCPNoDescriptorIsAwaited() throws {
    let client = try RunningDoor().connect(isLocal: false)
    client.send("zFILDES\0")
    #expect(client.rest() == "FILDES needs a Unix socket. ERROR\0")
  }

  // MARK: Ends

  @Test func anEarlyAnswerIsReadByAClientThatStillSends() throws {
    let door = try RunningDoor(.answersEarly)
    for isLocal in [true, false] {
      let client = try door.connect(isLocal: isLocal)
      client.send(Self.inStream([UInt8](repeating: 1, count: 1 << 20), by: 65_536))
      #expect(client.rest() == "stream: no room. ERROR\0")
    }
  }

  @Test func drainingLetsAContentThatComesEnd() throws {
    let door = try RunningDoor()
    let (idle, busy) = (try door.connect(), try door.connect())
    busy.send(Array("zIDSESSION\0zINSTREAM\0".utf8) + [0, 0, 0, 9] + Self.text.prefix(4))
    door.waitFor { $0.begun == 1 }
    door.drain()
    #expect(idle.rest() == "")
    busy.send(Array(Self.text.dropFirst(4)) + [0, 0, 0, 0])
    #expect(busy.rest() == "1: stream: \(DoorClient.answer(Self.text))\0")
  }

  @Test func aClientThatLeavesIsForgotten() throws {
    for manner in [RunningDoor.Manner.takesNone, .answersNever] {
      let door = try RunningDoor(manner)
      let client = try door.connect()
      client.send(Self.inStream(Self.text))
      door.waitFor { $0.begun == 1 }
      client.close()
      door.waitFor { $0.connections == 0 && $0.dropped == 1 }
    }
  }
}

/// A file without a name that has this text.
private func sluice_unnamed(_ text: String) -> Int32 {
  let file = open("/tmp", O_RDWR | 0o20_200_000 /* O_TMPFILE, a macro of several */, 0o600)
  _ = write(file, text, text.utf8.count)
  return file
}
