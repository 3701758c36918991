extension Probe {
  private static func begin(_ lines: String, _ body: String = "") -> String {
    "POST /v1/uploads HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\n\(lines)\r\n\(body)"
  }

  private static let tus = "Tus-Resumable: 1.0.0\r\n"
  private static let octets = "Content-Type: application/offset+octet-stream\r\n"

  /// Uploads that cannot begin.
  static let uploads: [Probe] =
    [
      "", "Tus-Resumable:\r\n", "Tus-Resumable: 1\r\n", "Tus-Resumable: 1.0\r\n",
      "Tus-Resumable: 1.0.0.0\r\n",
      "Tus-Resumable: 2.0.0\r\n", "Tus-Resumable: v1.0.0\r\n", "Tus-Resumable: 1.0.0, 1.0.0\r\n", tus + tus,
    ].map { answered("tus as \($0.debugDescription)", begin($0 + "Upload-Length: 1\r\n"), 412) }
    + [
      "", "-1", "+1", "-0", "1e3", "0x10", "1.0", "1,1", "1 1", "1\t1", "ten", "1_0", "\u{FF}",
      "\u{D9}\u{A1}", "1;a=b",
    ].map { answered("Upload-Length: \($0)", begin("\(tus)Upload-Length: \($0)\r\n"), 400) }
    // More than any file has, by the number of digits alone.
    + [
      "9999999999999999999", "9223372036854775808", "18446744073709551617", "000000000000000000001",
      String(repeating: "9", count: 5000),
    ].map { answered("Upload-Length: \($0.prefix(30))", begin("\(tus)Upload-Length: \($0)\r\n"), 413) }
    + [
      answered("no length", begin(tus), 400),
      answered("a length twice", begin(tus + "Upload-Length: 1\r\nUpload-Length: 1\r\n"), 400),
      answered(
        "a length that is larger than allowed", begin(tus + "Upload-Length: 999999999999999999\r\n"), 413),
      answered(
        "a length and a deferred one", begin(tus + "Upload-Length: 1\r\nUpload-Defer-Length: 1\r\n"), 400),
      answered("a length deferred by 2", begin(tus + "Upload-Defer-Length: 2\r\n"), 400),
      answered("a length deferred by true", begin(tus + "Upload-Defer-Length: true\r\n"), 400),
      answered(
        "a length deferred twice", begin(tus + "Upload-Defer-Length: 1\r\nUpload-Defer-Length: 1\r\n"), 400),
    ]
    + [
      "?", "filename", "filename ?", "filename YQ", "filename Y===", "filename YQ== YQ==",
      "filename YQ==,filename YQ==",
      ",", "filename YQ==,", ",filename YQ==", "filename AA==", "filename /w==", "filename 7aCA",
      "filename wK4=", " ,", "f\u{FF}e YQ==",
      "filename \u{FF}", "filename -_==", "filename Y Q==", "filename=YQ==", "filename;YQ==",
      "conversationId Ly4uL2E=,x",
      String(repeating: "a YQ==,", count: 2000), String(repeating: ",", count: 5000),
      "participants W1tbW1s=", "participants bnVsbA==",
    ].map {
      // A name alone has an empty value. What names there are, is tus's to leave open.
      Probe(
        name: "Upload-Metadata: \($0.prefix(40).debugDescription)",
        text: begin("\(tus)Upload-Length: 999999999999999999\r\nUpload-Metadata: \($0)\r\n"),
        answers: [[400, 403, 413]], ending: .kept)
    }
    + [
      answered(
        "another's upload", begin(tus + "Upload-Length: 1\r\nUpload-Metadata: senderId YmVu\r\n"), 403),
      answered(
        "metadata in two fields that say it twice",
        begin(tus + "Upload-Length: 1\r\nUpload-Metadata: a YQ==\r\nUpload-Metadata: a YQ==\r\n"), 400),
    ]
    + [
      "", "x", "final", "final;", "final; ", "final;x", "final;/v1/uploads/", "final;/v1/uploads/x",
      "final;UPLOAD,UPLOAD",
      "final;\u{FF}", "partial;", "Partial", "final;\(String(repeating: "/v1/uploads/UPLOAD ", count: 101))",
      "final;/v1/uploads/../uploads/x",
    ].map {
      answered(
        "Upload-Concat: \($0.prefix(30))", begin("\(tus)Upload-Length: 1\r\nUpload-Concat: \($0)\r\n"), 400)
    }
    + [
      "", "sha1", "sha1 ", "sha1 x", "sha1 AA==", "md5 AA==", "sha256 \(String(repeating: "A", count: 27))=",
      "sha1 \(String(repeating: "A", count: 27))= x", "crc32 AAAAAA==", "SHA1",
      "sha1,\(String(repeating: "A", count: 27))=",
    ].map {
      early(
        "Upload-Checksum: \($0.debugDescription)",
        begin("\(tus)\(octets)Upload-Length: 5\r\nUpload-Checksum: \($0)\r\nContent-Length: 5\r\n", "hello"),
        400)
    }
    + [
      early(
        "bytes of another type",
        begin(tus + "Upload-Length: 5\r\nContent-Type: x\r\nContent-Length: 5\r\n", "hello"), 415),
      early("bytes of no type", begin(tus + "Upload-Length: 5\r\nContent-Length: 5\r\n", "hello"), 415),
      early(
        "bytes of two types",
        begin(tus + octets + octets + "Upload-Length: 5\r\nContent-Length: 5\r\n", "hello"), 415),
      early(
        "more bytes than there are",
        begin(tus + octets + "Upload-Length: 4\r\nContent-Length: 5\r\n", "hello"), 413),
    ]

  private static func append(_ lines: String, _ body: String = "hello", to id: String = "UPLOAD") -> String {
    "PATCH /v1/uploads/\(id) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\n\(tus)\(lines)"
      + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  /// Parts that an upload of 10 bytes, of which none is there, cannot take.
  static let parts: [Probe] =
    [
      "", "-1", "+0", "-0", "0x0", "0.0", "zero", "0,0", "0 0", "\u{FF}", "-9223372036854775808",
    ].map { early("Upload-Offset: \($0)", append("\(octets)Upload-Offset: \($0)\r\n"), 400) }
    + [
      "1", "5", "10", "11", "999999999999999999", "9999999999999999999", "18446744073709551616",
      "0000000000000000000",
    ].map {
      early("Upload-Offset: \($0)", append("\(octets)Upload-Offset: \($0)\r\n"), 409)
    }
    + [
      early("no offset", append(octets), 400),
      early("an offset twice", append(octets + "Upload-Offset: 0\r\nUpload-Offset: 0\r\n"), 400),
      early("a part of no type", append("Upload-Offset: 0\r\n"), 415),
      early(
        "a part of another type", append("Content-Type: application/octet-stream\r\nUpload-Offset: 0\r\n"),
        415),
      early(
        "a part with a type and a parameter",
        append("Content-Type: application/offset+octet-stream;a=b\r\nUpload-Offset: 0\r\n"), 415),
      early("a part that is too long", append(octets + "Upload-Offset: 0\r\n", "hello world"), 413),
      early(
        "a part with a checksum of nothing", append(octets + "Upload-Offset: 0\r\nUpload-Checksum: sha1\r\n"),
        400),
      answered(
        "a part with another's checksum",
        append(
          octets + "Upload-Offset: 0\r\nUpload-Checksum: sha1 \(String(repeating: "A", count: 27))=\r\n"), 460
      ),
      early("a part of no upload", append(octets + "Upload-Offset: 0\r\n", to: "x"), 404),
      early("a part of a path", append(octets + "Upload-Offset: 0\r\n", to: "..%5cUPLOAD"), 404),
      early(
        "a part of an upload that is not there",
        append(octets + "Upload-Offset: 0\r\n", to: String(repeating: "0", count: 32)), 404),
      early(
        "a part of an upload in capitals",
        append(octets + "Upload-Offset: 0\r\n", to: String(repeating: "F", count: 32)), 404),
      answered("the content of an upload", asked("/v1/uploads/UPLOAD", tus), 405),
      answered(
        "the state of an upload, without a token", "HEAD /v1/uploads/UPLOAD HTTP/1.1\r\nHost: x\r\n\r\n", 401),
      answered("nothing for an upload", append(octets + "Upload-Offset: 0\r\n", ""), 204),
    ].map { $0.text.hasPrefix("HEAD") ? $0.asHead : $0 }

  private var asHead: Probe {
    var probe = self
    probe.isHead = true
    return probe
  }
}
