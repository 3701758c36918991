import Foundation
import Glibc
import Testing

/// A proxy in front of a server, set up as docs/http.md shows it. It has a port and a certificate of its own.
final class Proxy {
  enum Kind: String, Sendable {
    case nginx, haproxy

    var program: String? {
      ["/usr/sbin", "/usr/bin", "/usr/local/sbin"].map { "\($0)/\(rawValue)" }.first { access($0, X_OK) == 0 }
    }

    /// A proxy and OpenSSL's program, which makes the certificate.
    var isThere: Bool { program != nil && access("/usr/bin/openssl", X_OK) == 0 }
  }

  let port: UInt16
  private let process: Process

  /// - Parameters:
  ///   - folder: for its files.
  ///   - server: the port of the server.
  init(_ kind: Kind, in folder: TemporaryFolder, to server: UInt16) throws {
    port = try Self.freePort()
    let name = "\(kind.rawValue)-\(port)"
    try FileManager.default.createDirectory(
      atPath: "\(folder.path)/\(name)", withIntermediateDirectories: true)
    let here = "\(folder.path)/\(name)"
    try Self.makeCertificate(in: folder, name)
    let recipe = try Self.recipe(
      kind,
      [
        "127.0.0.1:8080": "127.0.0.1:\(server)", "listen 443": "listen 127.0.0.1:\(port)",
        "bind :443": "bind 127.0.0.1:\(port)", "/etc/ssl/files.example.com.pem": "\(here)/certificate",
        "/etc/ssl/private/files.example.com.key": "\(here)/key",
        "/etc/haproxy/files.example.com.pem": "\(here)/both",
      ])
    try folder.write("\(name)/recipe", recipe)
    let words: [String]
    switch kind {
    case .nginx:
      let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
        "\($0)_temp_path \(here)/\($0);"
      }
      try folder.write(
        "\(name)/nginx.conf",
        """
        \(getuid() == 0 ? "user root;" : "")
        daemon off; pid \(here)/pid; error_log stderr warn; worker_processes 1;
        events { worker_connections 4096; }
        http { access_log off; \(temporary.joined(separator: " ")) include \(here)/recipe; }
        """)
      words = ["-p", here, "-c", here + "/nginx.conf"]
    case .haproxy: words = ["-db", "-f", here + "/recipe"]
    }
    process = try SluiceCommand.start(
      words, in: folder, out: here + "/out", err: here + "/err", program: try #require(kind.program))
    let port = port
    do {
      try Resident.wait("it listens", seconds: 10) { (try? RawConnection(port: port)) != nil }
    } catch {
      Issue.record("\(kind): \((try? folder.read("\(name)/err")) ?? "")")
      throw error
    }
  }

  deinit {
    // Its workers end with it.
    kill(process.processIdentifier, SIGTERM)
    process.waitUntilExit()
  }

  private static func freePort() throws -> UInt16 {
    let socket = try WebhookReceiver.listen()
    defer { close(socket) }
    return try WebhookReceiver.port(of: socket)
  }

  private static func makeCertificate(in folder: TemporaryFolder, _ name: String) throws {
    let made = try SluiceCommand.run(
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj",
        "/CN=files.example.com", "-keyout", "\(name)/key", "-out", "\(name)/certificate",
      ], in: folder, program: "/usr/bin/openssl")
    try #require(made.status == 0, "\(made.err)")
    let both = try folder.read("\(name)/certificate") + folder.read("\(name)/key")
    try folder.write("\(name)/both", both)
  }

  /// The block of the page in the proxy's language.
  private static func recipe(_ kind: Kind, _ places: [String: String]) throws -> String {
    let page = try String(contentsOfFile: SluiceCommand.projectFolder + "/docs/http.md", encoding: .utf8)
    let start = try #require(
      page.range(of: "```\(kind.rawValue)\n"), "docs/http.md has no recipe for \(kind)")
    let end = try #require(page[start.upperBound...].range(of: "\n```"))
    var recipe = String(page[start.upperBound..<end.lowerBound]) + "\n"
    var count = 0
    for (place, other) in places where recipe.contains(place) {
      count += 1
      recipe = recipe.replacingOccurrences(of: place, with: other)
    }
    #expect(count == (kind == .nginx ? 4 : 3), "the recipe names its ports and files")
    return recipe
  }
}

/// A server that answers each request with its head, one connection after the other.
final class HeadEcho {
  let port: UInt16
  private let socket: Int32

  init() throws {
    let socket = try WebhookReceiver.listen()
    (self.socket, port) = (socket, try WebhookReceiver.port(of: socket))
    Thread.detachNewThread {
      while case let connection = accept(socket, nil, nil), connection >= 0 {
        var head: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 8 << 10)
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
          let count = recv(connection, &room, room.count, 0)
          if count <= 0 { break }
          head += room[..<count]
        }
        let answer =
          Array("HTTP/1.1 200 OK\r\nContent-Length: \(head.count)\r\nConnection: close\r\n\r\n".utf8) + head
        _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
        close(connection)
      }
    }
  }

  deinit {
    shutdown(socket, Int32(SHUT_RDWR))
    close(socket)
  }
}
