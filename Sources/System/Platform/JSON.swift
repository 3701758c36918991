import Bytes

// Below, for programs that have no library of ours but that: what reads and writes JSON.
public typealias JSONWriter = Bytes.JSONWriter
typealias JSONScanner = Bytes.JSONScanner
