import Glibc
import Platform

/// The terminal while a live view has it: keys come at once and are not shown, and the screen is another one. What was there
/// comes back when this goes, however the view ends.
final class RawTerminal {
  private let before: termios

  init() throws(SystemError) {
    var attributes = termios()
    if tcgetattr(STDIN_FILENO, &attributes) != 0 { throw SystemError("asking the terminal") }
    before = attributes
    hold()
    // Another screen, no cursor, no line breaks of the terminal's own.
    Terminal.write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l", to: STDOUT_FILENO)
    // It only interrupts the wait for a key, so that the view is drawn anew.
    signal(SIGWINCH) { _ in }
  }

  deinit {
    Terminal.write("\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l", to: STDOUT_FILENO)
    var attributes = before
    tcsetattr(STDIN_FILENO, TCSANOW, &attributes)
    signal(SIGWINCH, SIG_DFL)
  }

  /// Takes the terminal, again where a shell had it meanwhile. The keys that would stop this process or have it dump its memory
  /// are off: it would leave the terminal as it is.
  func hold() {
    var attributes = before
    attributes.c_lflag &= ~tcflag_t(ICANON | ECHO)
    withUnsafeMutableBytes(of: &attributes.c_cc) { keys in
      (keys[Int(VSUSP)], keys[Int(VQUIT)]) = (0, 0)
      (keys[Int(VMIN)], keys[Int(VTIME)]) = (1, 0)
    }
    tcsetattr(STDIN_FILENO, TCSANOW, &attributes)
  }

  /// Its columns and rows.
  var size: (columns: Int, rows: Int) {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return (80, 24)
    }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  /// Shows these lines, each as far as there is room. Text in them must be printable.
  func show(_ lines: [String]) {
    let (columns, rows) = size
    let shown = lines.prefix(rows).map { Self.clipped($0, columns) + "\u{1B}[K" }
    Terminal.write("\u{1B}[H" + shown.joined(separator: "\n") + "\u{1B}[J", to: STDOUT_FILENO)
  }

  /// The beginning of a line. Colors take no room.
  private static func clipped(_ line: String, _ columns: Int) -> String {
    var result = String.UnicodeScalarView()
    var room = columns
    var isColor = false
    for scalar in line.unicodeScalars {
      if scalar == "\u{1B}" { isColor = true }
      if !isColor {
        if room == 0 { continue }
        room -= 1
      }
      result.append(scalar)
      if isColor && scalar == "m" { isColor = false }
    }
    return String(result)
  }

  /// The keys that were pressed; waits for at most so many milliseconds, or until a signal comes.
  ///
  /// - Parameter signals: reads SIGINT, SIGTERM and SIGHUP.
  /// - Returns: `nil`: the terminal is gone, or a signal came.
  func keys(_ signals: Int32, wait milliseconds: Int32) -> [UInt8]? {
    var descriptors = [
      pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
      pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
    ]
    if poll(&descriptors, 2, milliseconds) <= 0 { return [] }
    if descriptors[1].revents != 0 { return nil }
    if descriptors[0].revents == 0 { return [] }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(STDIN_FILENO, &bytes, bytes.count)
    if count < 0 && errno == EINTR { return [] }
    return count > 0 ? Array(bytes[..<count]) : nil
  }
}
