//! Serves figures to Prometheus by HTTP.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use fpdb::Fingerprint;

use crate::commands::info::{self, Figures};
use crate::commands::service::Service;

/// How long a request may take. Requests are answered one after the other.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most bytes of a request.
const MAX_REQUEST: usize = 8 << 10;

/// Answers requests until the server has stopped.
pub(crate) fn run<F: Fingerprint>(listener: &TcpListener, service: &Arc<Service<F>>) {
    loop {
        let accepted = listener.accept();
        if service.shared.clients.is_cut_off() {
            return;
        }
        // A failure concerns only one request; the next one may succeed.
        match accepted {
            Ok((stream, _)) => drop(answer(&stream, service)),
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn answer<F: Fingerprint>(mut stream: &TcpStream, service: &Service<F>) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = read_request(stream)?;
    let (status, body) = match page(&request) {
        Ok(Page::Metrics) => ("200 OK", info::prometheus(&service.shared, &Figures::of(service))),
        Ok(Page::Health) => ("200 OK", "ok\n".to_owned()),
        Ok(Page::Ready) => match unready(service) {
            None => ("200 OK", "ready\n".to_owned()),
            Some(reason) => ("503 Service Unavailable", format!("{reason}\n")),
        },
        Err(status) => (status, format!("{status}\n")),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes())?;
    stream.shutdown(Shutdown::Write)
}

/// Reads the head of a request: up to an empty line.
fn read_request(mut stream: &TcpStream) -> io::Result<Vec<u8>> {
    let start = Instant::now();
    let mut request = Vec::new();
    let mut part = [0; 1024];
    loop {
        let left = PATIENCE.saturating_sub(start.elapsed()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left))?;
        let bytes = stream.read(&mut part)?;
        request.extend_from_slice(&part[..bytes]);
        let is_complete = request.windows(4).any(|window| window == b"\r\n\r\n");
        if is_complete || bytes == 0 || request.len() > MAX_REQUEST {
            return Ok(request);
        }
        if start.elapsed() >= PATIENCE {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

/// What can be requested.
#[derive(Debug, PartialEq, Eq)]
enum Page {
    /// Figures.
    Metrics,
    /// Whether the process answers at all.
    Health,
    /// Whether it does what it is for.
    Ready,
}

/// Returns why the server does not do what it is for, if it does not.
fn unready<F: Fingerprint>(service: &Service<F>) -> Option<String> {
    if service.shared.clients.stopping_since().is_some() {
        return Some("the server is stopping".to_owned());
    }
    service.db.failure()
}

/// Returns what a request is for, or else the status of the response.
fn page(request: &[u8]) -> Result<Page, &'static str> {
    let line = request.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|&byte| byte == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let version = words.next().unwrap_or_default();
    if !version.starts_with(b"HTTP/1.") || request.len() > MAX_REQUEST {
        return Err("400 Bad Request");
    }
    if method != b"GET" {
        return Err("405 Method Not Allowed");
    }
    match path.split(|&byte| byte == b'?').next() {
        Some(b"/metrics") => Ok(Page::Metrics),
        Some(b"/health") => Ok(Page::Health),
        Some(b"/ready") => Ok(Page::Ready),
        _ => Err("404 Not Found"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_get_of_the_three_pages_is_answered() {
        let get = |request: &str| page(request.as_bytes());
        assert_eq!(get("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), Ok(Page::Metrics));
        assert_eq!(get("GET /metrics?x=1 HTTP/1.0\r\n\r\n"), Ok(Page::Metrics));
        assert_eq!(get("GET /health HTTP/1.1\r\n\r\n"), Ok(Page::Health));
        assert_eq!(get("GET /ready? HTTP/1.1\r\n\r\n"), Ok(Page::Ready));
        assert_eq!(get("GET /healthy HTTP/1.1\r\n\r\n"), Err("404 Not Found"));
        assert_eq!(get("GET / HTTP/1.1\r\n\r\n"), Err("404 Not Found"));
        assert_eq!(get("POST /metrics HTTP/1.1\r\n\r\n"), Err("405 Method Not Allowed"));
        for bad in ["", "\r\n", "GET", "GET /metrics", "PING\r\n", "GET /metrics HTTP/2\r\n"] {
            assert_eq!(get(bad), Err("400 Bad Request"), "{bad:?}");
        }
    }
}
