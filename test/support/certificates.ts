/** Certificates of an authority of its own, made by openssl for one test file. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Certificate and private key, in PEM. */
export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

export interface Authority extends Pair {
  /** A pair for a name, for a server or a client. */
  issue(name: string): Pair;
}

/** A pair that is well formed, and too short for TLS as it is today. */
export function makeWeakPair(): Pair {
  const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-certificates-'));
  try {
    const made = ['-newkey', 'rsa:1024', '-nodes', '-keyout', 'key.pem', '-out', 'cert.pem', '-subj', '/CN=weak'];
    execFileSync('openssl', ['req', '-x509', ...made], { cwd: folder, stdio: 'pipe' });
    return { certificate: readFileSync(join(folder, 'cert.pem'), 'utf8'), key: readFileSync(join(folder, 'key.pem'), 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Makes an authority; what it issues is good for a day. */
export function makeAuthority(): Authority {
  const inFolder = <T>(work: (folder: string, openssl: (...argv: string[]) => void) => T): T => {
    const folder = mkdtempSync(join(tmpdir(), 'purchase-watch-certificates-'));
    try {
      return work(folder, (...argv) => execFileSync('openssl', argv, { cwd: folder, stdio: 'pipe' }));
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  const read = (folder: string): Pair => ({
    certificate: readFileSync(join(folder, 'cert.pem'), 'utf8'),
    key: readFileSync(join(folder, 'key.pem'), 'utf8'),
  });
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'key.pem'];
  const authority = inFolder((folder, openssl) => {
    openssl('req', '-x509', ...fresh, '-out', 'cert.pem', '-subj', '/CN=authority of a test', '-days', '60');
    return read(folder);
  });
  return {
    ...authority,
    issue: (name) =>
      inFolder((folder, openssl) => {
        writeFileSync(join(folder, 'ca.pem'), authority.certificate);
        writeFileSync(join(folder, 'ca-key.pem'), authority.key);
        writeFileSync(join(folder, 'names'), `subjectAltName=DNS:${name}`);
        openssl('req', ...fresh, '-out', 'request.pem', '-subj', `/CN=${name}`);
        const by = ['-CA', 'ca.pem', '-CAkey', 'ca-key.pem', '-CAcreateserial', '-extfile', 'names'];
        openssl('x509', '-req', '-in', 'request.pem', '-out', 'cert.pem', '-days', '60', ...by);
        return read(folder);
      }),
  };
}
