import CPlatform
import CWorker
import Glibc
import Pipeline
import Wire

/// A stage's program at work: lines to it and from it, the content that it is handed, and how it ends.
///
/// It has one attachment in hand at a time. What ends it, or is no line of the protocol, is told the coordinator as a
/// ``ProgramFault``, and ends this worker as well.
final class ProgramProcess {
  private let keeper: ProgramKeeper
  /// Where its lines come from, and where its own go to. Neither blocks.
  private let output: Int32
  private let input: Int32
  /// A file in memory with the content: for this process to write, and as the program has it.
  private let content: Int32
  private let contentForReading: Int32
  /// A file in memory for new content.
  let produced: Int32
  private let hasSeveralProcesses: Bool
  /// The most new content, in bytes.
  private let mostProduced: Int64
  /// What it has said and was not taken.
  private var said: [UInt8] = []
  /// How much of that is known to hold no newline.
  private var looked = 0
  private var lineCount = 0
  /// Its status, once it has ended.
  private var ended: Int32?

  /// The most lines that it may say of one attachment.
  private static let mostLines = 10_000
  /// Milliseconds in which one that has closed its standard output has to end.
  private static let closing: Int32 = 1000

  /// Why it cannot be started.
  struct Problem: Error {
    var message: String
  }

  /// Starts it.
  ///
  /// - Parameter mostProduced: the most new content that it may write, in bytes.
  init(_ program: Program, _ keeper: ProgramKeeper, mostProduced: Int64) throws(Problem) {
    (self.keeper, self.mostProduced) = (keeper, mostProduced)
    var (toProgram, fromProgram): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
    guard pipe(&toProgram) == 0, pipe(&fromProgram) == 0 else { throw Self.problem("making a pipe") }
    (input, output) = (toProgram[1], fromProgram[0])
    content = sluice_memfd("content", 0)
    produced = sluice_memfd("new content", 0)
    contentForReading = open("/proc/self/fd/\(content)", O_RDONLY | O_CLOEXEC)
    guard content >= 0, produced >= 0, contentForReading >= 0 else {
      throw Self.problem("making a file in memory")
    }
    // To open it anew by its path, for reading. In new content the program may write also as another user.
    guard fchmod(content, 0o444) == 0, fchmod(produced, 0o666) == 0 else { throw Self.problem("fchmod(2)") }
    for descriptor in [input, output] where sluice_set_nonblocking(descriptor) != 0 {
      throw Self.problem("fcntl(2)")
    }
    hasSeveralProcesses = program.processes > 1
    defer { for descriptor in [toProgram[0], fromProgram[1]] { close(descriptor) } }
    let descriptors = [toProgram[0], fromProgram[1], contentForReading, produced]
    guard sluice_keeper_run(keeper.socket, descriptors) == 0, var news = keeper.news() else {
      throw Self.problem("asking for its process")
    }
    // That of the program before it, which this process did not wait for.
    while news.kind == UInt32(SLUICE_PROGRAM_ENDED) {
      guard let next = keeper.news() else { throw Self.problem("asking for its process") }
      news = next
    }
    guard news.kind == UInt32(SLUICE_PROGRAM_STARTED) else { throw Self.problem(news, program) }
  }

  deinit {
    _ = sluice_keeper_end(keeper.socket)
    for descriptor in [input, output, content, contentForReading, produced] { close(descriptor) }
  }

  private static func problem(_ what: String) -> Problem {
    Problem(message: "\(what): \(String(cString: strerror(errno)))")
  }

  private static func problem(_ news: sluice_program_news, _ program: Program) -> Problem {
    let reason = String(cString: strerror(news.detail))
    switch Int32(news.step) {
    case Int32(SLUICE_STEP_USER): return Problem(message: "becoming the user nobody: \(reason)")
    case Int32(SLUICE_STEP_NAMESPACE):
      return Problem(
        message:
          "'processes' above 1 needs namespaces of its own, which this system does not let this user make: \(reason); write "
          + "'processes: 1', or allow them (`sluice doctor` tells more)")
    case Int32(SLUICE_STEP_FOLDER):
      return Problem(
        message:
          "the folder \(program.folder): \(reason)\(asNobody); give it and the folders above it the mode o+x")
    case Int32(SLUICE_STEP_READS):
      let paths = program.reads.filter { $0 != "." }.map { "'\($0)'" }.joined(separator: ", ")
      return Problem(
        message:
          "a path under 'reads' (\(paths)) cannot be opened: \(reason)\(asNobody); correct or remove it")
    case Int32(SLUICE_STEP_LIMITS): return Problem(message: "setting its limits: \(reason)")
    case Int32(SLUICE_STEP_FILES), Int32(SLUICE_STEP_CALLS):
      return Problem(message: "the kernel lacks a part of the sandbox (`sluice doctor` names it): \(reason)")
    case Int32(SLUICE_STEP_PROGRAM):
      let name = program.command.first ?? ""
      let remedy =
        news.detail == EACCES
        ? "; give the file, its interpreter and their folders to 'reads', and let all users read them (mode o+rx)"
        : "; install it, or name its path"
      return Problem(message: "the program '\(name)' cannot be started: \(reason)\(asNobody)\(remedy)")
    default: return Problem(message: "starting a process: \(reason)")
    }
  }

  private static var asNobody: String { geteuid() == 0 ? " (it runs as the user nobody)" : "" }

  // MARK: Content

  /// Copies content for the program to read, and empties what it wrote.
  ///
  /// - Returns: 0, or an errno.
  func show(_ source: Int32) -> Int32 {
    guard ftruncate(content, 0) == 0, ftruncate(produced, 0) == 0 else { return errno }
    for file in [contentForReading, produced] { lseek(file, 0, SEEK_SET) }
    return source < 0 ? 0 : Self.copy(from: source, to: content)
  }

  /// Bytes of new content.
  var producedSize: Int64 {
    var facts = stat()
    return fstat(produced, &facts) == 0 ? Int64(facts.st_size) : 0
  }

  /// Appends a part of one file to another, which only appends. Returns 0, or an errno.
  static func append(from source: Int32, _ range: Range<Int64>, to target: Int32) -> Int32 {
    withUnsafeTemporaryAllocation(byteCount: 256 << 10, alignment: 16) { room in
      var place = range.lowerBound
      while place < range.upperBound {
        let wanted = min(Int64(room.count), range.upperBound - place)
        let count = pread(source, room.baseAddress, Int(wanted), off_t(place))
        if count < 0 && errno == EINTR { continue }
        if count < 0 { return errno }
        // The program has cut it since it was measured.
        if count == 0 { return EIO }
        var written = 0
        while written < count {
          let more = write(target, room.baseAddress.map { $0 + written }, count - written)
          if more < 0 && errno == EINTR { continue }
          if more < 0 { return errno }
          written += more
        }
        place += Int64(count)
      }
      return 0
    }
  }

  /// Copies one file to another, from an offset to its beginning. Returns 0, or an errno.
  static func copy(from source: Int32, at offset: Int64 = 0, to target: Int32) -> Int32 {
    withUnsafeTemporaryAllocation(byteCount: 256 << 10, alignment: 16) { room in
      var place: off_t = 0
      while true {
        let count = pread(source, room.baseAddress, room.count, off_t(offset) + place)
        if count < 0 && errno == EINTR { continue }
        if count < 0 { return errno }
        if count == 0 { return 0 }
        var written = 0
        while written < count {
          let more = pwrite(
            target, room.baseAddress.map { $0 + written }, count - written, place + off_t(written))
          if more < 0 && errno == EINTR { continue }
          if more < 0 { return errno }
          written += more
        }
        place += off_t(count)
      }
    }
  }

  // MARK: Lines

  /// Sends the first line. The program may be ready or refuse without reading it, and may have ended: its words are read next.
  func greet(_ line: String) {
    lineCount = 0
    send(line) {}
  }

  /// Sends a line, and keeps the words of the program meanwhile.
  func tell(_ line: String) {
    lineCount = 0
    var one = pollfd(fd: keeper.socket, events: Int16(POLLIN), revents: 0)
    if ended == nil, poll(&one, 1, 0) == 1 { takeNews() }
    expectSilence()
    send(line) { die(closing: "its standard input") }
  }

  /// - Parameter broken: called where the program reads no more.
  private func send(_ line: String, broken: () -> Void) {
    var text = line
    text.append("\n")
    text.withUTF8 { bytes in
      var written = 0
      while written < bytes.count {
        let count = write(input, bytes.baseAddress.map { $0 + written }, bytes.count - written)
        if count > 0 {
          written += count
        } else if count < 0 && errno == EAGAIN {
          wait(toWrite: true)
          if said.count > ProgramLine.limit { fault(.invalidReply("it says more than it reads")) }
        } else if count < 0 && errno != EINTR {
          return broken()
        }
      }
    }
  }

  /// The next line that it says, without its newline.
  func line() -> ArraySlice<UInt8> {
    while true {
      if let end = said[looked...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = said[..<end]
        said.removeFirst(end + 1)
        looked = 0
        lineCount += 1
        if end > ProgramLine.limit { faultOfLength() }
        if lineCount > Self.mostLines { fault(.invalidReply("more than \(Self.mostLines) lines")) }
        return line
      }
      looked = said.count
      if looked > ProgramLine.limit { faultOfLength() }
      if ended != nil {
        let before = said.count
        hear(waiting: false)
        if said.count == before { die(closing: "its standard output") }
      } else {
        wait(toWrite: false)
      }
    }
  }

  /// It has nothing in hand, and so nothing to say. Asked behind each verdict, so that a second one is charged to what the first
  /// was for.
  func expectSilence() {
    hear(waiting: false)
    if !said.isEmpty { fault(.invalidReply("it said something while it had nothing in hand")) }
  }

  private func faultOfLength() -> Never {
    fault(.invalidReply("a line of more than \(ProgramLine.limit) bytes"))
  }

  /// Waits until it has said something, has ended, or takes more.
  private func wait(toWrite: Bool) {
    var ready = [
      pollfd(fd: output, events: Int16(POLLIN), revents: 0),
      pollfd(fd: ended == nil ? keeper.socket : -1, events: Int16(POLLIN), revents: 0),
      pollfd(fd: toWrite ? input : -1, events: Int16(POLLOUT), revents: 0),
    ]
    poll(&ready, 3, -1)
    if ready[1].revents != 0 { takeNews() }
    if ready[0].revents != 0 { hear(waiting: true) }
  }

  private func takeNews() {
    // The keeper ends with this process only.
    guard let news = keeper.news() else { exit(1) }
    if news.kind == UInt32(SLUICE_PROGRAM_ENDED) { ended = news.detail }
  }

  /// Takes what it has said.
  ///
  /// - Parameter waiting: something is there, if only the end.
  private func hear(waiting: Bool) {
    withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { room in
      let count = read(output, room.baseAddress, room.count)
      if count > 0 {
        said += room[..<count]
      } else if count == 0 && waiting {
        die(closing: "its standard output")
      }
    }
  }

  // MARK: The end

  /// What its family has started so far may stay.
  func spareFamily() { askKeeper(sluice_keeper_spare) }

  /// Ends what its family has started since the last attachment.
  func sweepFamily() { askKeeper(sluice_keeper_sweep) }

  /// Gives the keeper an order, and waits until it is carried out.
  private func askKeeper(_ order: (Int32) -> Int32) {
    guard hasSeveralProcesses, ended == nil else { return }
    guard order(keeper.socket) == 0 else { exit(1) }
    while let news = keeper.news() {
      if news.kind == UInt32(SLUICE_PROGRAM_ENDED) { ended = news.detail }
      if news.kind == UInt32(SLUICE_PROGRAM_SWEPT) { return }
    }
    exit(1)
  }

  /// It has closed a stream: by ending, or else it only pretends to end.
  private func die(closing stream: String) -> Never {
    var one = pollfd(fd: keeper.socket, events: Int16(POLLIN), revents: 0)
    while ended == nil, poll(&one, 1, Self.closing) == 1 { takeNews() }
    guard let status = ended else { fault(.invalidReply("it closed \(stream) and went on")) }
    // As WIFSIGNALED and WEXITSTATUS of wait(2).
    let signal = status & 0x7F
    // Interpreters ignore the signal, and end with the error of the write.
    if signal == SIGXFSZ || (status != 0 && producedSize >= mostProduced) { fault(.outputLimit) }
    fault(signal != 0 ? .crashed(signal: signal) : .exited((status >> 8) & 0xFF))
  }

  /// Tells the coordinator, and ends this worker.
  func fault(_ fault: ProgramFault) -> Never {
    var fault = fault
    if case .invalidReply(let reason) = fault {
      fault = .invalidReply(Call.cut(reason, to: ProgramFault.reasonLimit))
    }
    ControlSocket(SLUICE_FD_CONTROL).send(fault.frame)
    exit(1)
  }
}
