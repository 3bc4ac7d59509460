module kusionstack.io/operator/test/faults/proxy

go 1.26.0
