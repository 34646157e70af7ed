import socket,sys
s=socket.socket();s.bind(('127.0.0.1',0));s.listen();print(s.getsockname()[1],flush=True)
for r in [b'bytes=22579200 seconds=1 load=0.5\n', b'hello\n', b'x'*5000, b'bytes=1 seconds=1\n', b'']:
    c,_=s.accept()
    while c.recv(1<<20): pass
    c.sendall(r); c.close()
